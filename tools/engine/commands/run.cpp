#include "command.h"
#include "execution.h"

namespace trainlab {

namespace {

// A fresh run, or one that is continued or helped with.
class RunExecution final : public Execution {
 public:
  using Execution::Execution;

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
    if (!run().begun()) run().say(shown_name() + ": ran no stage (a recipe returns one: `return lab.fit { … }`)");
    return run().finish();
  }

  StageResult perform(const Spec& given, bool returned) {
    const std::shared_ptr<const Spec> spec = with_set(given, returned);
    Value summary = run().stage(Options(registry(), spec, ""), returned);
    const std::string name = summary["name"].string();
    return {std::move(summary), run().stage_folder(name), spec};
  }
};

}  // namespace

Command run_command() {
  return {"run", [](const EngineStart& start) { return RunExecution(start).execute(); }};
}

}  // namespace trainlab
