// `trainlab find lr|batch|loader|optimizer RECIPE.lua`. The command's record is in tools/trainlab/commands.
#include <cmath>

#include "command.h"
#include "core/files.h"
#include "find/batch.h"
#include "find/optimizer.h"
#include "find/rate.h"
#include "measured_stage.h"
#include "optim/optimizer.h"
#include "profile/loader.h"
#include "run/applied.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

// The result of a finder as text, as data, and as texts for --set.
struct Found {
  std::string text;
  Value value;
  std::vector<std::string> set = {};
};

class FindExecution final : public MeasuredStage {
 public:
  explicit FindExecution(const EngineStart& start) : MeasuredStage(start) { check_apply(); }

 private:
  int measure(const WhatToMeasure& what, const RunSettings& settings) override {
    const std::string& finder = request().options["finder"].string();
    if (what.stage.entry().name != "fit") {
      throw usage_error("expected a lab.fit as the stage of the recipe, found " +
                        (what.spec ? "lab." + what.stage.entry().name : what.note + ", a lab.task"))
          .hint("a task's loop is code, whose rates and batches only the recipe knows");
    }
    if (request().has("apply") && !what.spec) {
      throw usage_error("--apply: expected a fit that the recipe names, found " + what.note)
          .hint("options of its fits come from the function `build`");
    }
    mute();  // the many trainings of a search would print the same again and again
    tell(what, with_torch_errors([&] {
           const Spec fit = what.stage.spec();
           if (finder == "loader") return loader(what, settings);
           if (finder == "batch") return batch(fit, settings);
           if (finder == "optimizer") return optimizer(fit, settings);
           return rate(fit, settings);
         }));
    return 0;
  }

  Found rate(const Spec& fit, const RunSettings& settings) {
    const FoundRate found = find_rate(registry(), fit, settings, {.context = {.say = say()}});
    return {rate_text(found), to_value(found), {rate_set(fit, found.suggestion)}};
  }

  Found batch(const Spec& fit, const RunSettings& settings) {
    const FoundBatch found = find_batch(registry(), fit, settings, {.context = {.say = say()}});
    std::vector<std::string> set = {"batch=" + std::to_string(found.suggestion / found.accumulate)};
    if (std::isfinite(found.scaled_rate)) set.push_back(rate_set(fit, found.scaled_rate));
    return {batch_text(found), to_value(found), std::move(set)};
  }

  Found optimizer(const Spec& fit, const RunSettings& settings) {
    const FoundOptimizer found = find_optimizer(registry(), fit, settings, {.context = {.say = say()}});
    return {optimizer_text(found), to_value(found)};
  }

  Found loader(const WhatToMeasure& what, const RunSettings& settings) {
    const FoundLoader found = find_loader(what.stage, settings, say());
    const LoaderSize& size = found.tried[found.suggestion].size;
    return {loader_text(found),
            to_value(found),
            {"loader.threads=" + std::to_string(size.threads), "loader.prefetch=" + std::to_string(size.prefetch)}};
  }

  static std::string rate_set(const Spec& fit, double rate) {
    return rate_option_of(fit.value["optim"]) + "=" + number_text(rate);
  }

  std::function<void(const std::string&)> say() {
    return [this](const std::string& line) { run().say(line); };
  }

  void tell(const WhatToMeasure& what, Found found) {
    const std::string stage = what.stage.string("name");
    if (request().has("apply")) {
      write_changes(
          *request().path("apply"),
          {.recipe = hash_file(request().recipe), .stage = stage, .set = std::move(found.set), .threads = {}});
    }
    if (!request().has("json")) return send(found.text + (what.note.empty() ? "" : what.note + " was searched for\n"));
    if (!what.note.empty()) found.value.set("note", what.note);
    found.value.set("recipe", shown_name());
    found.value.set("stage", stage);
    send_json(found.value);
  }
};

}  // namespace

Command find_command() {
  return {"find", [](const EngineStart& start) { return FindExecution(start).execute(); }};
}

}  // namespace trainlab
