#include "command.h"
#include "execution.h"

namespace trainlab {

namespace {

// Validates a recipe and reports its stages, up to the first stage whose result the recipe needs.
class CheckExecution final : public Execution {
 public:
  explicit CheckExecution(const EngineStart& start) : Execution(start, Purpose::check) {}

 private:
  StageResult run_stage(const std::shared_ptr<const Spec>& stage) override {
    check(*stage, false);
    up_to_ = stage_key(registry(), stage->value);
    text_ += "\nchecked up to stage " + up_to_ + "; the rest needs its result\n";
    throw ExecutionEnds();
  }

  int end(const Recipe::Outcome& outcome) override {
    if (outcome.stage) check(*outcome.stage, true);
    if (!outcome.ended) check_set_used();
    if (outcome.ended && text_.empty()) text_ = "checked up to a lab.study with a file; the rest needs its trials\n";
    if (!outcome.stage && !outcome.ended) text_ = std::string(no_stage("checked").what()) + "\n";
    if (!request().has("json")) {
      send(text_);
      return 0;
    }
    Value::Map object{{"kind", "check"}, {"status", "done"}, {"stages", stages_}, {"text", text_}};
    if (!up_to_.empty()) object["up_to"] = up_to_;
    send_json(object);
    return 0;
  }

  void check(const Spec& given, bool returned) {
    const Options stage(registry(), with_set(given, returned), "");
    try {
      Checked checked = run().check(stage, {.step = request().has("step"), .callbacks = request().has("callbacks")});
      text_ += checked.text;
      stages_.push_back(std::move(checked.facts));
    } catch (const Error& error) {
      throw with_origin(error, request().texts("set"), stage_key(registry(), stage.value()), returned);
    }
  }

  std::string text_;
  Value::List stages_;
  std::string up_to_;  // the stage whose result the rest of the recipe needs
};

}  // namespace

Command check_command() {
  return {
      .name = "check",
      .execute = [](const EngineStart& start) { return CheckExecution(start).execute(); },
      .line = "validate a recipe and show what it would run",
      .text = "Prints the model's tree, parameters, FLOPs and a memory estimate, and writes nothing.\n",
      .flags = {{.name = "step", .type = switch_type(), .help = "also one training and one validation step"},
                {.name = "callbacks",
                 .type = switch_type(),
                 .help = "also calls each function of the recipe on a few samples,\nto show mistakes in them at once"}},
  };
}

}  // namespace trainlab
