#include "plan/recipe_plan.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/error.h"
#include "run/budget.h"

namespace trainlab {

namespace {

constexpr double least_half_width = 0.03;

Seconds plus(const Seconds& a, double seconds) { return {a.median + seconds, a.low + seconds, a.high + seconds}; }

Seconds widened(const Seconds& step) {
  return {.median = step.median,
          .low = std::min(step.low, (1 - least_half_width) * step.median),
          .high = std::max(step.high, (1 + least_half_width) * step.median)};
}

Value value_of(const std::optional<Seconds>& seconds) {
  if (!seconds) return {};
  return Value::Map{{"median", seconds->median}, {"low", seconds->low}, {"high", seconds->high}};
}

template <class Number>
Value or_nil(const std::optional<Number>& number) {
  return number ? Value(*number) : Value();
}

Value known(double number) { return number > 0 ? Value(number) : Value(); }

std::optional<PlannedCost> cost_in(const Value& value) {
  if (value.is_nil()) return std::nullopt;
  return PlannedCost{
      .amount = value["amount"].number(), .currency = value["currency"].string(), .as_of = value["as_of"].string()};
}

}  // namespace

RecipePlan plan_of(const MeasuredStageFacts& facts) {
  RecipePlan plan;
  plan.step = plus(widened(facts.step), facts.between);
  if (facts.steps_per_epoch > 0) plan.epoch = plan.step.times(static_cast<double>(facts.steps_per_epoch));
  if (facts.steps > 0) plan.training = plus(plan.step.times(static_cast<double>(facts.steps)), facts.once);
  if (plan.training && facts.trainings > 0) plan.whole = plan.training->times(static_cast<double>(facts.trainings));
  if (plan.whole && facts.watts > 0) plan.joules = facts.watts * plan.whole->median;
  if (facts.within == 0) return plan;

  const BudgetTerms terms{.seconds = facts.within, .reserve = facts.reserve};
  const double usable = end_of_stage(terms, facts.start, facts.share) - facts.start;
  plan.usable = usable;
  const double steps = std::max(std::floor((usable - facts.once) / plan.step.median), 0.0);
  plan.steps = steps;
  if (facts.steps_per_epoch > 0) plan.epochs = steps / static_cast<double>(facts.steps_per_epoch);
  if (plan.training) plan.trainings = static_cast<std::int64_t>(usable / plan.training->median);
  if (!plan.whole) {
    // A stage without a length of its own goes on until the budget ends it.
    plan.ends_first = EndsFirst::budget;
    return plan;
  }
  plan.ends_first = plan.whole->median <= usable ? EndsFirst::length : EndsFirst::budget;
  if (facts.parameters > 0 && facts.flops > 0) plan.largest_parameters = facts.parameters * usable / plan.whole->median;
  return plan;
}

MeasuredStageFacts facts_from(const Value& value) try {
  const Value& step = value["step"];
  return {.stage = value["stage"].string(),
          .kind = value["kind"].string(),
          .step = {.median = step["median"].number(), .low = step["low"].number(), .high = step["high"].number()},
          .between = value["between"].number(),
          .once = value["once"].number(),
          .start = value["start"].number(),
          .steps_per_epoch = value["steps_per_epoch"].integer(),
          .steps = value["steps"].integer(),
          .trainings = value["trainings"].integer(),
          .parameters = value["parameters"].number(),
          .flops = value["flops"].number(),
          .within = value["within"].number(),
          .reserve = value["reserve"].number(),
          .share = value["share"].number(),
          .watts = value["watts"].number(),
          .cost = cost_in(value["cost"])};
} catch (const std::logic_error& error) {
  throw run_error(std::string("the engine has measured something else: ") + error.what())
      .hint("`trainlab` and `trainlab-engine` must come from the same build: install both again");
}

Value to_value(const MeasuredStageFacts& facts, const RecipePlan& plan) {
  return Value::Map{{"kind", "plan"},
                    {"stage", facts.stage},
                    {"stage_kind", facts.kind},
                    {"step_seconds", value_of(plan.step)},
                    {"epoch_seconds", value_of(plan.epoch)},
                    {"training_seconds", value_of(plan.training)},
                    {"seconds", value_of(plan.whole)},
                    {"steps_per_epoch", facts.steps_per_epoch > 0 ? Value(facts.steps_per_epoch) : Value()},
                    {"parameters", known(facts.parameters)},
                    {"flops_per_step", known(facts.flops)},
                    {"flops", known(facts.flops * static_cast<double>(facts.steps * facts.trainings))},
                    {"within", known(facts.within)},
                    {"reserve", known(facts.reserve)},
                    {"usable", or_nil(plan.usable)},
                    {"epochs", or_nil(plan.epochs)},
                    {"steps", or_nil(plan.steps)},
                    {"trainings", or_nil(plan.trainings)},
                    {"ends_first", text_of(plan.ends_first)},
                    {"largest_parameters", or_nil(plan.largest_parameters)},
                    {"watts", known(facts.watts)},
                    {"joules", or_nil(plan.joules)},
                    {"cost", facts.cost ? Value(facts.cost->amount) : Value()},
                    {"currency", facts.cost ? Value(facts.cost->currency) : Value()},
                    {"price_as_of", facts.cost ? Value(facts.cost->as_of) : Value()},
                    // No law of the loss is known before the recipe has trained.
                    {"approaches", Value()},
                    {"loss", Value()},
                    {"flags", Value()}};
}

}  // namespace trainlab
