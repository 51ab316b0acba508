// `trainlab find lr RECIPE.lua`: its line has a record in tools/trainlab/commands.
#include "command.h"
#include "core/files.h"
#include "find/rate.h"
#include "measured_stage.h"
#include "run/applied.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

class FindExecution final : public MeasuredStage {
 public:
  using MeasuredStage::MeasuredStage;

 private:
  int measure(const WhatToMeasure& what, const RunSettings& settings) override {
    if (!what.spec || what.stage.entry().name != "fit") {
      throw usage_error("expected a lab.fit that the recipe names, found " +
                        (what.spec ? "lab." + what.stage.entry().name : what.note));
    }
    const RateOptions options{.say = [this](const std::string& line) { run().say(line); }};
    const FoundRate found = with_torch_errors([&] { return find_rate(registry(), *what.spec, settings, options); });
    if (request().has("apply")) {
      write_changes(*request().path("apply"), {.recipe = hash_file(request().recipe),
                                               .stage = what.stage.string("name"),
                                               .set = {"optim.lr=" + number_text(found.suggestion)},
                                               .threads = {}});
    }
    if (request().has("json")) {
      Value object = to_value(found);
      object.set("recipe", shown_name());
      object.set("stage", what.stage.string("name"));
      send_json(object);
    } else {
      send(rate_text(found));
    }
    return 0;
  }
};

}  // namespace

Command find_command() {
  return {"find", [](const EngineStart& start) { return FindExecution(start).execute(); }};
}

}  // namespace trainlab
