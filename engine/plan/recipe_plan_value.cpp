// The facts of a measured stage, and its plan, as values.
#include <stdexcept>

#include "core/error.h"
#include "core/number_or_nil.h"
#include "plan/recipe_plan.h"

namespace trainlab {

namespace {

Value value_of(const std::optional<MedianInterval>& seconds) { return seconds ? seconds->to_value() : Value(); }

Value known(double number) { return number > 0 ? Value(number) : Value(); }

std::vector<TrainingWave> waves_in(const Value& value) {
  std::vector<TrainingWave> waves;
  for (const Value& one : value.list()) {
    waves.push_back({.trials = one["trials"].integer(),
                     .validations = one["validations"].integer(),
                     .times = one["times"].integer()});
  }
  return waves;
}

std::optional<PlannedCost> cost_in(const Value& value) {
  if (value.is_nil()) return std::nullopt;
  return PlannedCost{
      .amount = value["amount"].number(), .currency = value["currency"].string(), .as_of = value["as_of"].string()};
}

// The members of the value that are the most that the stage can take.
Value::List at_most_of(const MeasuredStageFacts& facts, const RecipePlan& plan) {
  Value::List names;
  if (plan.seconds_are_most) names.emplace_back("seconds");
  if (plan.seconds_are_most && plan.joules) names.emplace_back("joules");
  if (plan.seconds_are_most && facts.cost) names.emplace_back("cost");
  if (plan.flops_are_most && plan.flops) names.emplace_back("flops");
  return names;
}

// By the measured steps and, where one is given, by the law.
Value::List flags_of(const RecipePlan& plan) {
  const Judgement judgement = plan.by_law ? plan.by_law->judgement : Judgement();
  Value::List flags;
  if (judgement.is_compute_inefficient()) flags.emplace_back("compute_inefficient");
  if (plan.is_repeated() || judgement.is_over_trained()) flags.emplace_back("data_inefficient");
  return flags;
}

}  // namespace

MeasuredStageFacts facts_from(const Value& value) try {
  const Value& step = value["step"];
  return {.stage = value["stage"].string(),
          .kind = value["kind"].string(),
          .step = {.median = step["median"].number(), .low = step["low"].number(), .high = step["high"].number()},
          .wall = value["wall"].number(),
          .once = value["once"].number(),
          .start = value["start"].number(),
          .validation = value["validation"].number(),
          .validate_every = value["validate_every"].integer(),
          .steps_per_epoch = value["steps_per_epoch"].integer(),
          .steps = value["steps"].integer(),
          .is_task = value["is_task"].boolean(),
          .waves = waves_in(value["waves"]),
          .repeats = value["repeats"].integer(),
          .at_end = value["at_end"].integer(),
          .may_be_fewer = value["may_be_fewer"].boolean(),
          .may_end_early = value["may_end_early"].boolean(),
          .together = value["together"].integer(),
          .workers = value["workers"].integer(),
          .at_once = value["at_once"].number(),
          .after = value["after"].number(),
          .is_on_gpu = value["is_on_gpu"].boolean(),
          .parameters = value["parameters"].number(),
          .flops = value["flops"].number(),
          .full_step_flops = value["full_step_flops"].number(),
          .epoch_flops = value["epoch_flops"].number(),
          .within = value["within"].number(),
          .reserve = value["reserve"].number(),
          .share = value["share"].number(),
          .trainings_share = value["trainings_share"].number(),
          .training_time = value["training_time"].number(),
          .stage_time = value["stage_time"].number(),
          .most_flops = value["most_flops"].number(),
          .step_passes = value["step_passes"].number(),
          .model_memory = value["model_memory"].number(),
          .room = value["room"].number(),
          .peak = value["peak"].number(),
          .watts = value["watts"].number(),
          .cost = cost_in(value["cost"])};
} catch (const std::logic_error& error) {
  throw run_error(std::string("the engine has measured something else: ") + error.what())
      .hint("`trainlab` and `trainlab-engine` must come from the same build: install both again");
}

Value to_value(const MeasuredStageFacts& facts, const RecipePlan& plan) {
  const auto of_whole = [&](double MedianInterval::*member) {
    return plan.whole ? Value((*plan.whole).*member) : Value();
  };
  Value value = Value::Map{{"kind", "plan"},
                           {"stage", facts.stage},
                           {"stage_kind", facts.kind},
                           {"step_seconds", value_of(plan.step)},
                           {"epoch_seconds", value_of(plan.epoch)},
                           {"training_seconds", value_of(plan.training)},
                           {"workers", facts.workers},
                           {"seconds", of_whole(&MedianInterval::median)},
                           {"seconds_low", of_whole(&MedianInterval::low)},
                           {"seconds_high", of_whole(&MedianInterval::high)},
                           {"at_most", at_most_of(facts, plan)},
                           {"steps_per_epoch", facts.steps_per_epoch > 0 ? Value(facts.steps_per_epoch) : Value()},
                           {"parameters", known(facts.parameters)},
                           {"flops_per_step", known(facts.flops)},
                           {"flops", number_or_nil(plan.flops)},
                           {"rate", number_or_nil(plan.rate)},
                           {"mfu", number_or_nil(plan.mfu)},
                           {"passes", known(plan.passes)},
                           {"within", known(facts.within)},
                           {"reserve", known(facts.reserve)},
                           {"usable", number_or_nil(plan.usable)},
                           {"flops_budget", known(facts.most_flops)},
                           {"epochs", number_or_nil(plan.fits.epochs)},
                           {"steps", number_or_nil(plan.fits.steps)},
                           {"trainings", plan.fits.trainings ? Value(*plan.fits.trainings) : Value()},
                           {"ends_first", text_of(plan.ends_first)},
                           {"largest_parameters", number_or_nil(plan.largest_parameters)},
                           {"largest_by", plan.largest_by.empty() ? Value() : Value(std::string(plan.largest_by))},
                           {"watts", known(facts.watts)},
                           {"joules", number_or_nil(plan.joules)},
                           {"cost", facts.cost ? Value(facts.cost->amount) : Value()},
                           {"currency", facts.cost ? Value(facts.cost->currency) : Value()},
                           {"price_as_of", facts.cost ? Value(facts.cost->as_of) : Value()},
                           {"flags", flags_of(plan)}};
  const Value by_law = plan.by_law ? to_value(*plan.by_law) : Value();
  for (const char* name : {"tokens", "loss", "loss_low", "loss_high", "approaches", "compute_share",
                           "tokens_per_parameter", "best_tokens_per_parameter", "extrapolated", "law"})
    value.set(name, by_law.is_nil() ? Value() : by_law[name]);
  return value;
}

}  // namespace trainlab
