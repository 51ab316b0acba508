#include "commands.h"

#include <torch/headeronly/version.h>

#include <algorithm>
#include <cstdlib>

#include "bindings/lua_error.h"
#include "bindings/recipe.h"
#include "bindings/set_options.h"
#include "core/clock.h"
#include "predict.h"
#include "registry.h"
#include "run/folder.h"
#include "run/manifest.h"
#include "run/run.h"
#include "stdlib/stdlib.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

namespace fs = std::filesystem;

// As the user would type it: relative to the working folder where that is no longer. The same for the stored copy of
// a run that is continued.
std::string shown_name(const Request& request) {
  const fs::path file = request.recipe_folder / request.recipe.filename();
  const std::string relative = file.lexically_relative(request.working_folder).generic_string();
  return relative.empty() || relative.size() > file.string().size() ? file.string() : relative;
}

// When the run began: of one that is continued, as its manifest says.
double started_at(const Request& request) {
  const fs::path folder = request.recipe.parent_path();
  const bool stored = folder != request.recipe_folder;  // RUN/recipe/x.lua
  const fs::path run = request.out ? *request.out : stored ? folder.parent_path() : fs::path();
  std::error_code failed;
  std::tm time{};
  if (!run.empty() && fs::exists(manifest_path(run), failed) &&
      ::strptime(read_manifest(run).started.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time)) {
    return static_cast<double>(::timegm(&time));
  }
  return wall_seconds();
}

Environment environment(const Request& request) {
  const at::Device device = parse_device(request.device.value_or("auto"));
  return {TORCH_VERSION, device.str(), started_at(request)};
}

class Execution {
 public:
  explicit Execution(const EngineStart& start)
      : start_(start),
        request_(start.request),
        registry_(all_entries()),
        environment_(environment(request_)),
        run_(registry_, request_, environment_, *start.channel),
        set_(request_.set),
        parameters_(describes() ? std::vector<GivenParameter>() : request_.parameters, request_.working_folder,
                    describes(), [this](const std::string& name, const Value& value) { run_.parameter(name, value); }),
        recipe_(host(), files(), parameters_,
                {[this](const auto& stage) { return run_stage(stage); },
                 [this](const std::string& path, std::string_view text) { run_.source(path, text); }}) {}

  int run() {
    try {
      // For tensors that the recipe makes outside of stages; a stage says it again for itself.
      const RunSettings& settings = run_.settings();
      prepare_arithmetic(settings.threads > 0 ? settings.threads : settings.cores);
      const Recipe::Outcome outcome = recipe_.execute();
      if (describes()) {
        send_text(*start_.channel, parameters_.help(shown_name(request_), recipe_.text()));
        return 0;
      }
      if (outcome.stage) {
        try {
          perform(outcome.stage, true);
        } catch (const NothingLeft&) {
          return run_.finish();
        }
      }
      if (request_.command == Command::predict) return predict();
      if (!outcome.ended) set_.check_all_used();
      if (request_.command == Command::run) {
        if (!run_.begun()) {
          run_.say(shown_name(request_) + ": ran no stage (a recipe returns one: `return lab.fit { … }`)");
        }
        return run_.finish();
      }
      send_text(*start_.channel, outcome.stage || outcome.ended ? text_ : "The recipe returns no stage.\n");
      return 0;
    } catch (const std::exception& exception) {
      return run_.fail(as_error(exception));
    }
  }

 private:
  bool describes() const { return request_.command == Command::parameters; }

  LuaHost host() {
    LuaHost host;
    host.registry = &registry_;
    host.stdlib = stdlib_sources(request_.stdlib);
    host.seed = run_.settings().seed;
    host.started = environment_.started;
    host.describes = describes();
    host.recipe_folder = request_.recipe_folder.string();
    host.print = [this](const std::string& line) { run_.say(line); };
    host.silent = [this](const Error& error) {
      send_error(*start_.channel, error);
      std::_Exit(static_cast<int>(error.kind()));
    };
    return host;
  }

  RecipeFiles files() const {
    RecipeFiles files{request_.recipe, {request_.recipe.parent_path()}, shown_name(request_)};
    if (request_.recipe_folder != files.folders.front()) files.folders.push_back(request_.recipe_folder);
    return files;
  }

  // lab.run.
  StageResult run_stage(const std::shared_ptr<const Spec>& stage) {
    if (describes()) throw ExecutionEnds();
    StageResult result = [&] {
      try {
        return perform(stage, false);
      } catch (const NothingLeft&) {
        throw ExecutionEnds();
      }
    }();
    if (predicted_) throw ExecutionEnds();
    if (request_.command == Command::run || request_.command == Command::predict) return result;
    const Value& name = stage->value["name"];
    text_ += "\nchecked up to stage " + (name.is_string() ? name.string() : stage->value["@"].string()) +
             "; the rest needs its result\n";
    throw ExecutionEnds();
  }

  StageResult perform(const std::shared_ptr<const Spec>& given, bool returned) {
    auto spec = std::make_shared<Spec>(*given);
    spec->value = set_.apply(registry_, std::move(spec->value), returned);
    if (returned) set_.check_all_used();
    const Options stage(registry_, spec, "");
    if (request_.command == Command::run) {
      Value summary = run_.stage(stage, returned);
      const std::string name = summary["name"].string();
      return {std::move(summary), run_.stage_folder(name), spec};
    }
    if (request_.command == Command::predict) return pass_over(spec);
    const StageKind& kind = registry_.implementation<StageKind>(stage.entry());
    try {
      text_ += kind.check(stage, run_.settings(), request_.step);
    } catch (const Error& error) {
      const Value& name = stage.value()["name"];
      throw with_origin(error, request_.set, name.is_string() ? name.string() : "", returned);
    }
    return {};
  }

  // Of the stages of a run that predicts: the one that is meant brings the functions of its model, the others their
  // results.
  StageResult pass_over(const std::shared_ptr<const Spec>& stage) {
    const Value& name = stage->value["name"];
    if (!name.is_string()) return {};
    if (name.string() == request_.prediction->stage) {
      predicted_ = stage;
      return {};
    }
    const fs::path folder = find_stage(*request_.out, name.string()).folder;
    return {read_summary(folder), folder, stage};
  }

  int predict() {
    if (!predicted_) {
      throw recipe_error("the recipe has no stage \"" + request_.prediction->stage + "\" any more, which it ran before");
    }
    send_text(*start_.channel, predicted_text(registry_, request_, predicted_));
    return 0;
  }

  const EngineStart& start_;
  const Request& request_;
  Registry registry_;
  const Environment environment_;
  Run run_;
  SetOptions set_;
  Parameters parameters_;
  std::string text_;  // what `check` prints
  std::shared_ptr<const Spec> predicted_;  // the stage whose model predicts, once it is found
  Recipe recipe_;     // last: its state is closed before all that it calls
};

}  // namespace

int execute(const EngineStart& start) {
  try {
    if (start.request.command == Command::predict && !needs_recipe(start.request)) {
      send_text(*start.channel, predicted_text(all_entries(), start.request, nullptr));
      return 0;
    }
    Execution execution(start);
    return execution.run();
  } catch (const std::exception& exception) {
    const Error error = as_error(exception);
    send_error(*start.channel, error);
    return static_cast<int>(error.kind());
  }
}

}  // namespace trainlab
