// The engine's work for `trainlab plan data RECIPE.lua`: trains the recipe's first fit on parts of its training data.
#include "find/subsets.h"
#include "command.h"
#include "core/clock.h"
#include "measured_stage.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

class SubsetsExecution final : public MeasuredStage {
 public:
  using MeasuredStage::MeasuredStage;

 private:
  int measure(const WhatToMeasure& what, const RunSettings& settings) override {
    require_fit(what, "a task opens its data itself, so that nobody else can give it fewer");
    mute();  // the trainings would print the same again and again
    SearchContext context{.say = [this](const std::string& line) { run().say(line); }};
    if (request().has("within")) {
      const double begun = request().begun > 0 ? request().begun : steady_seconds();
      const double end = begun + request().options["within"].number();
      context.seconds_left = [end] { return end - steady_seconds(); };
    }
    const FoundSubsets found =
        with_torch_errors([&] { return train_on_subsets(registry(), what.stage.spec(), settings, context); });
    if (!request().has("json")) {
      send(subsets_text(found) + (what.note.empty() ? "" : "  " + what.note + " was trained\n"));
      return 0;
    }
    Value value = to_value(found);
    value.set("stage", what.stage.string("name"));
    if (!what.note.empty()) value.set("note", what.note);
    send_json(value);
    return 0;
  }
};

}  // namespace

Command subsets_command() {
  return {"subsets", [](const EngineStart& start) { return SubsetsExecution(start).execute(); }};
}

}  // namespace trainlab
