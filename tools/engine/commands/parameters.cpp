#include "command.h"
#include "execution.h"

namespace trainlab {

namespace {

// `trainlab RECIPE.lua --help`: the text about the recipe and its parameters.
class ParametersExecution final : public Execution {
 public:
  explicit ParametersExecution(const EngineStart& start) : Execution(start, Purpose::describe) {}

 private:
  StageResult run_stage(const std::shared_ptr<const Spec>&) override { throw ExecutionEnds(); }

  int end(const Recipe::Outcome&) override {
    send(parameters().help(shown_name(), recipe().text()));
    return 0;
  }
};

}  // namespace

Command parameters_command() {
  return {"parameters", [](const EngineStart& start) { return ParametersExecution(start).execute(); }};
}

}  // namespace trainlab
