#include "execution.h"

#include <torch/headeronly/version.h>

#include <cstdlib>

#include "command.h"
#include "core/clock.h"
#include "core/reading.h"
#include "paid_time.h"
#include "registry.h"
#include "run/flag.h"
#include "run/version.h"
#include "stdlib/stdlib.h"
#include "tensor/device.h"
#include "tensor/memory.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

namespace fs = std::filesystem;

// The manifest of a run that is continued or helped with.
std::optional<Manifest> manifest_of(const Request& request) {
  const fs::path folder = request.recipe.parent_path();
  const bool stored = folder != request.recipe_folder;  // RUN/recipe/x.lua
  const fs::path run = request.has("out") ? *request.path("out") : stored ? folder.parent_path() : fs::path();
  std::error_code failed;
  if (run.empty() || !fs::exists(manifest_path(run), failed)) return std::nullopt;
  return read_manifest(run);
}

// When the run began: of one that is continued, as its manifest says.
double started_at(const std::optional<Manifest>& manifest) {
  std::tm time{};
  if (manifest && ::strptime(manifest->started.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time))
    return static_cast<double>(::timegm(&time));
  return wall_seconds();
}

// The recipe may read the folders of --read and what its own execution needs.
void limit_reading_of(const Request& request) {
  if (!request.has("read")) return;
  std::vector<fs::path> folders;
  for (const std::string& folder : request.texts("read")) folders.emplace_back(folder);
  limit_reading(folders);
  allow_reading(request.recipe.parent_path());
  allow_reading(request.recipe_folder);
  if (!request.second.empty()) allow_reading(request.second.parent_path());
  if (request.mends()) {
    allow_reading(request.path("recipe")->parent_path());
    allow_reading(request.recipe.parent_path().parent_path());  // the run, before its folder is opened
  }
  // The run that is continued, and the stage whose model predicts.
  for (const char* option : {"out", "folder"}) {
    if (request.has(option)) allow_reading(*request.path(option));
  }
  for (const fs::path& path : request.named) allow_reading(path);
}

// The limit of --memory: the given one, or that of the run that goes on (`begun`). 0: none.
std::int64_t memory_limit_of(const Request& request, const Manifest* begun) {
  if (request.has("memory")) return request.options["memory"].integer();
  return begun ? begun->setting("memory").integer() : 0;
}

// The flags whose names no parameter may have. A continued run keeps all its parameters: a flag may be newer than the
// run, and nobody can change the stored recipe.
std::vector<Flag> reserved_flags(bool continues) {
  if (continues) return {};
  std::vector<Flag> flags = common_flags();
  for (const Command& command : all_commands()) flags.insert(flags.end(), command.flags.begin(), command.flags.end());
  return flags;
}

// The answers of lab.latest that are known from the beginning: those of the run that goes on, or of a run beside which
// this one is trained.
Value::Map known_latest(const Request& request, const std::optional<Manifest>& manifest) {
  if (manifest) return manifest->latest;
  const Value& given = request.options["latest_runs"];
  return given.is_map() ? given.map() : Value::Map();
}

Environment environment(const Request& request, const std::optional<Manifest>& manifest, const std::string& device) {
  const auto own_device = [worker = request.worker](const std::string& name) {
    return worker_device(name, worker).str();
  };
  return {.libtorch = TORCH_VERSION,
          .device = device,
          .started = started_at(manifest),
          .use_threads = prepare_arithmetic,
          .own_device = own_device,
          .latest = known_latest(request, manifest),
          .clock = steady_seconds};
}

}  // namespace

Execution::Execution(const EngineStart& start, Purpose purpose)
    : start_(start),
      purpose_(purpose),
      registry_(all_entries()),
      begun_(manifest_of(request())),
      // A recipe that is only described makes nothing on a device.
      device_(describes() ? ChosenDevice{"cpu", {}} : chosen_device(request())),
      environment_(environment(request(), begun_, device_.name)),
      run_(registry_, request(), environment_, *start.channel),
      set_(request().texts("set")),
      parameters_(
          describes() ? std::vector<GivenParameter>() : request().parameters, request().working_folder, describes(),
          reserved_flags(begun_.has_value()),
          [this](const std::string& name, const Value& value) { run_.parameter(name, value); },
          request().texts("flags")),
      recipe_(host(), files(), parameters_,
              {[this](const auto& stage) { return run_stage(stage); },
               [this](const std::string& path, std::string_view text) { run_.source(path, text); },
               [this](const Value& options) {
                 run_.budget(options, paid_time(options, begun_ ? begun_->price : Value()));
               }}) {
  limit_reading_of(request());
  set_tensor_memory_limit(memory_limit_of(request(), begun_ && purpose_ == Purpose::run ? &*begun_ : nullptr));
  on_long_reading([this](const std::string& line) { run_.say(line); });
  for (const std::string& warning : device_.warnings) run_.say_damage(warning);
}

int Execution::execute() {
  try {
    return end(recipe_.execute());
  } catch (const std::exception& exception) {
    return run_.fail(engine_error(exception));
  }
}

std::shared_ptr<const Spec> Execution::with_set(const Spec& stage, bool returned) {
  auto spec = std::make_shared<const Spec>(set_.apply(registry_, stage, returned));
  if (returned) set_.check_all_used();
  return spec;
}

StageResult Execution::run_to_end(const std::shared_ptr<const Spec>& stage, bool returned) {
  Value summary = run_.stage(Options(registry_, stage, ""), returned);
  const std::string name = summary["name"].string();
  return {std::move(summary), run_.stage_folder(name), stage};
}

Error Execution::no_stage(const std::string& done) const {
  const auto& [entry, at] = recipe_.state().latest_stage();
  const std::string made = "lab." + entry;
  if (entry.empty()) {
    return usage_error(shown_name() + ": no stage was " + done + " (a recipe returns one: `return lab.fit { … }`)");
  }
  return usage_error("the " + made + " made here was not " + done +
                     ", because the recipe does not return it: write `return " + made + " { … }`")
      .at(at.file, at.line);
}

LuaHost Execution::host() {
  LuaHost host;
  host.registry = &registry_;
  host.stdlib = stdlib_sources(request().path("stdlib"));
  host.seed = run_.settings().seed;
  host.device = [this] { return run_.settings().device; };
  host.started = environment_.started;
  if (begun_ && begun_->trainlab != version()) host.begun_by = begun_->trainlab;
  host.describes = describes();
  host.checks = describes() || purpose_ == Purpose::check;
  host.recipe_folder = request().recipe_folder.string();
  host.working_folder = request().working_folder.string();
  host.latest_run = [this](const std::string& runs) { return run_.latest(runs).string(); };
  host.print = [this](const std::string& line) {
    if (!is_muted_) run_.say(line);
  };
  host.limits.silence = value_of(common_flag("silence"), request().options).number();
  host.limits.grace = value_of(common_flag("grace"), request().options).number();
  host.silent = [this](const Error& error) {
    send_silent(*start_.channel, error);
    std::_Exit(static_cast<int>(error.kind()));
  };
  return host;
}

RecipeFiles Execution::files(bool stored) const {
  const fs::path file = request().mends() && !stored ? *request().path("recipe") : request().recipe;
  RecipeFiles files{file, {file.parent_path()}, shown_name()};
  if (request().recipe_folder != files.folders.front()) files.folders.push_back(request().recipe_folder);
  return files;
}

}  // namespace trainlab
