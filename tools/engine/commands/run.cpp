#include <map>
#include <set>

#include "command.h"
#include "execution.h"
#include "run/folder.h"
#include "same_stages.h"

namespace trainlab {

namespace {

constexpr const char* mends_may_change =
    "a mended recipe may change callbacks, metrics and stop rules of a fit, all functions of a fit or a task that "
    "ended with an error in one of them, stages that have not begun, and code after the stages; for anything else "
    "begin a new run";
constexpr const char* build_may_not_change =
    "the build of a sweep or an ensemble that has begun may not change, and neither may the callbacks and other "
    "functions in it: the trials that have ended would not be comparable with those to come; begin a new run with the "
    "mended recipe";

// Executes a new run, continues a run, or helps with a run, be it one that another command needs for a while.
class RunExecution final : public Execution {
 public:
  explicit RunExecution(const EngineStart& start)
      : Execution(start, start.request.keeps_run() ? Purpose::run : Purpose::check) {}

  // For a run that goes on with an edited recipe: executes the recorded recipe up to the stage that is to continue, to
  // get its stages.
  void read_recorded() {
    if (!request().mends()) return;
    const std::filesystem::path folder = request().recipe.parent_path().parent_path();
    const std::vector<StageRecord> records = read_stages(folder);
    if (records.empty()) {
      throw usage_error("no stage of " + folder.string() + " has begun yet: there is nothing to go on with")
          .hint("begin a new run");
    }
    SetOptions set(request().texts("set"));
    Parameters given(request().parameters, request().working_folder, false, {}, {});
    LuaHost quiet = host();
    quiet.print = {};
    const auto record = [&](const Spec& stage, bool returned) {
      Spec full = set.apply(registry(), stage, returned);
      FunctionTexts texts = FunctionTexts::compared;
      if (recorded_.size() < records.size()) {
        const std::filesystem::path own = stage_path(folder, records[recorded_.size()].folder);
        if (may_change_functions(own)) texts = FunctionTexts::ignored;
      }
      recorded_.push_back({comparable_stage(registry(), full, texts), texts});
      return std::make_shared<const Spec>(std::move(full));
    };
    std::map<std::string, StageResult> results;
    const auto run = [&](const std::shared_ptr<const Spec>& stage) -> StageResult {
      const std::string name = stage_key(registry(), stage->value);
      if (const auto known = results.find(name); known != results.end()) return known->second;
      const std::shared_ptr<const Spec> full = record(*stage, false);
      if (recorded_.size() >= records.size()) throw ExecutionEnds();
      const std::filesystem::path own = folder / records[recorded_.size() - 1].folder;
      return results[name] = {read_stage_summary(own), own, full};
    };
    Recipe recipe(std::move(quiet), files(true), given, {run, {}});
    const Recipe::Outcome outcome = recipe.execute();
    if (outcome.stage && recorded_.size() < records.size() &&
        !results.contains(stage_key(registry(), outcome.stage->value)))
      record(*outcome.stage, true);
  }

 private:
  StageResult run_stage(const std::shared_ptr<const Spec>& stage) override {
    try {
      return perform(*stage, false);
    } catch (const NothingLeft&) {
      throw ExecutionEnds();
    }
  }

  int end(const Recipe::Outcome& outcome) override {
    if (outcome.stage) {
      try {
        perform(*outcome.stage, true);
      } catch (const NothingLeft&) {
        return run().finish();
      }
    }
    if (!outcome.ended) check_set_used();
    if (request().mends() && stages_ < recorded_.size()) {
      throw usage_error("the mended recipe has fewer stages than the run, which has " +
                        std::to_string(recorded_.size()));
    }
    if (!run().begun()) {
      // That a stage was forgotten is a mistake, which --quiet does not hide.
      const Error nothing = no_stage("run");
      nothing.line() > 0 ? run().say_damage(nothing.what()) : run().say(nothing.what());
    }
    return run().finish();
  }

  StageResult perform(const Spec& given, bool returned) {
    const std::shared_ptr<const Spec> spec = with_set(given, returned);
    if (request().mends()) require_same(*spec);
    return run_to_end(spec, returned);
  }

  void require_same(const Spec& stage) {
    if (stages_ >= recorded_.size() || !asked_.insert(stage_key(registry(), stage.value)).second) return;
    const auto& [recorded, texts] = recorded_[stages_];
    const Value now = comparable_stage(registry(), stage, texts);
    const std::vector<std::string> lines = stage_differences(recorded, now);
    if (!lines.empty()) {
      std::string message = "stage " + std::to_string(stages_ + 1) + " of the mended recipe is another than the run's:";
      for (const std::string& line : lines) message += "\n  " + line;
      throw usage_error(message).hint(recorded["build"] != now["build"] ? build_may_not_change : mends_may_change);
    }
    if (++stages_ == recorded_.size()) run().replace_recipe();
  }

  struct Recorded {
    Value stage;  // see comparable_stage
    FunctionTexts texts;
  };
  std::vector<Recorded> recorded_;  // the run's stages
  std::size_t stages_ = 0;          // stages of the edited recipe so far
  std::set<std::string> asked_;     // names of the stages so far
};

}  // namespace

Command run_command() {
  return {"run", [](const EngineStart& start) {
            RunExecution execution(start);
            execution.read_recorded();
            return execution.execute();
          }};
}

}  // namespace trainlab
