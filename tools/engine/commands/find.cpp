// `trainlab find lr|batch RECIPE.lua`: its line has a record in tools/trainlab/commands.
#include <cmath>

#include "command.h"
#include "core/files.h"
#include "find/batch.h"
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
    const auto say = [this](const std::string& line) { run().say(line); };
    if (request().options["finder"] == Value("batch")) {
      const FoundBatch found =
          with_torch_errors([&] { return find_batch(registry(), *what.spec, settings, {.say = say}); });
      std::vector<std::string> set = {"batch=" + std::to_string(found.suggestion / found.accumulate)};
      if (std::isfinite(found.scaled_rate)) set.push_back("optim.lr=" + number_text(found.scaled_rate));
      tell(what, std::move(set), to_value(found), batch_text(found));
    } else {
      const FoundRate found =
          with_torch_errors([&] { return find_rate(registry(), *what.spec, settings, {.say = say}); });
      tell(what, {"optim.lr=" + number_text(found.suggestion)}, to_value(found), rate_text(found));
    }
    return 0;
  }

  void tell(const WhatToMeasure& what, std::vector<std::string> set, Value found, const std::string& text) {
    const std::string stage = what.stage.string("name");
    if (request().has("apply")) {
      write_changes(*request().path("apply"),
                    {.recipe = hash_file(request().recipe), .stage = stage, .set = std::move(set), .threads = {}});
    }
    if (!request().has("json")) return send(text);
    found.set("recipe", shown_name());
    found.set("stage", stage);
    send_json(found);
  }
};

}  // namespace

Command find_command() {
  return {"find", [](const EngineStart& start) { return FindExecution(start).execute(); }};
}

}  // namespace trainlab
