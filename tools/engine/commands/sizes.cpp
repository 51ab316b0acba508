// The engine's work for `trainlab plan data RECIPE.lua` and `trainlab plan model RECIPE.lua`: trains the recipe's first
// fit, or that of --stage, on parts of its training data, or with smaller and larger models.
#include "command.h"
#include "core/clock.h"
#include "find/model_sizes.h"
#include "find/subsets.h"
#include "measured_stage.h"
#include "report/texts.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

class SizesExecution final : public MeasuredStage {
 public:
  using MeasuredStage::MeasuredStage;

 private:
  int measure(const WhatToMeasure& what, const RunSettings& settings) override {
    require_kept(what);
    const bool is_data = request().choice == "data";
    require_fit(what, is_data ? "a task opens its data itself, so that nobody else can give it fewer"
                              : "a task builds its model itself, so that nobody else can make it larger");
    mute();  // the trainings would print the same again and again
    SearchContext context{.say = [this](const std::string& line) { run().say(line); }};
    if (request().has("within")) {
      const double begun = request().begun > 0 ? request().begun : steady_seconds();
      const double end = begun + request().options["within"].number();
      context.seconds_left = [end] { return end - steady_seconds(); };
    }
    return with_torch_errors([&] {
      if (is_data)
        return tell(what, train_on_subsets(registry(), what.stage().spec(), settings, context), subsets_text);
      const WithSet with_set = [&](const std::vector<std::string>& set) {
        std::vector<std::string> texts;
        for (const std::string& one : set) texts.push_back(what.path() + one);
        return with_more(what, settings, texts);
      };
      return tell(what, train_model_sizes(what.stage(), settings, with_set, context), model_sizes_text);
    });
  }

  template <class Found>
  int tell(const WhatToMeasure& what, const Found& found, std::string (*text)(const Found&)) {
    Value value = to_value(found);
    value.set("stage", what.stage().string("name"));
    if (!what.note().empty()) value.set("note", what.note());
    const std::vector<std::string> failures = page_failures([&] { return report::sizes_page(value); });
    if (request().has("json")) {
      send_json(value);
    } else {
      send(text(found) + (what.note().empty() ? "" : "  " + what.note() + " was trained\n"));
    }
    return end_with(failures);
  }
};

}  // namespace

Command sizes_command() {
  return {"sizes", [](const EngineStart& start) { return SizesExecution(start).execute(); }};
}

}  // namespace trainlab
