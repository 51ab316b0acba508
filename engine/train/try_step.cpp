#include "try_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "loop.h"

namespace trainlab {
namespace {

std::string metrics_text(const char* what, const MetricMap& metrics, double seconds) {
  std::string text = fmt::format("{:<20}", what);
  for (const auto& [name, value] : metrics) text += fmt::format(" {} {:.4g},", name, value);
  return text + fmt::format(" {:.3g} ms\n", 1e3 * seconds);
}

Value metrics_facts(const MetricMap& metrics, double seconds) {
  Value::Map values;
  for (const auto& [name, value] : metrics) values.emplace(name, value);
  return Value::Map{{"metrics", std::move(values)}, {"seconds", seconds}};
}

}  // namespace

Checked try_step(const FitPlan& plan) {
  const FitMember member{.options = plan.options, .context = silent_context(plan.options)};
  const FirstStep first = FitLoop(plan, {&member, 1}, false).try_step();
  Checked tried{.text = metrics_text("one training step", first.training, first.training_seconds),
                .facts = Value::Map{{"training", metrics_facts(first.training, first.training_seconds)}}};
  if (first.end) {
    tried.text += "the fit would end here: " + *first.end + "\n";
    tried.facts.set("end", *first.end);
  } else if (!first.validation.empty()) {
    tried.text += metrics_text("one validation", first.validation, first.validation_seconds);
    tried.facts.set("validation", metrics_facts(first.validation, first.validation_seconds));
  }
  return tried;
}

namespace {

constexpr std::int64_t few = 8;  // samples of a batch

// The first samples of a part, in the place of the part.
void cut(Part& part, std::int64_t count) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < std::min(count, part.size()); ++i) rows.push_back(part.row(i));
  part.rows = std::make_shared<const std::vector<std::int64_t>>(std::move(rows));
  part.draws = nullptr;
}

// The fit's first epoch is over, and with it the trial.
class EndsTrial final : public StopRule {
 public:
  std::optional<std::string> validated(const Progress&) override { return "the trial has ended"; }
};

std::string function_names(const Options& fit) {
  std::string names;
  if (fit.given("on")) {
    for (const std::string& name : fit.child("on").names()) names += "on." + name + ", ";
  }
  return (names.empty() ? "" : names + "and ") + "all functions that compute";
}

}  // namespace

Checked try_callbacks(FitPlan plan) {
  const std::int64_t batch = std::min({plan.loader.batch, few, plan.data.train.size()});
  cut(plan.data.train, plan.data.train.size() < 2 * batch ? batch : 2 * batch);
  if (plan.data.val) cut(*plan.data.val, few);
  if (plan.data.test) cut(*plan.data.test, few);
  plan.loader.batch = batch;
  // The whole length stays what it is, because schedules and averages may name steps of it.
  plan.length.batch = batch * plan.accumulate;
  plan.length.steps_per_epoch = (plan.data.train.size() / batch + plan.accumulate - 1) / plan.accumulate;
  plan.validate_every = plan.length.steps_per_epoch;
  StageContext context = silent_context(plan.options);
  context.is_rehearsal = true;
  const FitMember member{
      .options = plan.options, .context = std::move(context), .rules = {std::make_shared<EndsTrial>()}};
  const Value summary = FitLoop(plan, {&member, 1}, false).run().front();
  if (summary["status"] == Value("failed")) {
    return {.text = "the functions of the recipe were called on a few samples, and the fit would fail there: " +
                    summary["reason"].string() + "\n",
            .facts = Value::Map{{"failed", summary["reason"]}}};
  }
  return {.text = fmt::format("{:<20} {}: called on {} training samples without an error\n", "functions",
                              function_names(plan.options), plan.data.train.size()),
          .facts = Value::Map{{"samples", plan.data.train.size()}}};
}

}  // namespace trainlab
