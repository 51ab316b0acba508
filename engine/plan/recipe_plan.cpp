#include "plan/recipe_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/error.h"
#include "core/number_or_nil.h"
#include "run/budget.h"

namespace trainlab {

namespace {

constexpr double least_half_width = 0.03;
constexpr double most_counted = 1e15;  // trainings; more fit into no budget that anybody has
constexpr double infinity = std::numeric_limits<double>::infinity();

MedianInterval plus(const MedianInterval& a, double seconds) {
  return {a.median + seconds, a.low + seconds, a.high + seconds};
}

// The interval, moved so that its middle value is `middle`.
MedianInterval about(const MedianInterval& a, double middle) {
  return {middle, middle + (a.low - a.median), middle + (a.high - a.median)};
}

MedianInterval widened(const MedianInterval& step) {
  return {.median = step.median,
          .low = std::min(step.low, (1 - least_half_width) * step.median),
          .high = std::max(step.high, (1 + least_half_width) * step.median)};
}

Value value_of(const std::optional<MedianInterval>& seconds) { return seconds ? seconds->to_value() : Value(); }

Value known(double number) { return number > 0 ? Value(number) : Value(); }

std::optional<PlannedCost> cost_in(const Value& value) {
  if (value.is_nil()) return std::nullopt;
  return PlannedCost{
      .amount = value["amount"].number(), .currency = value["currency"].string(), .as_of = value["as_of"].string()};
}

// The time, or `most` seconds where these are fewer or the time is unknown; `most` 0 is no bound.
std::optional<MedianInterval> at_most(const std::optional<MedianInterval>& time, double most) {
  if (most == 0) return time;
  if (!time) return MedianInterval{most, most, most};
  return MedianInterval{std::min(time->median, most), std::min(time->low, most), std::min(time->high, most)};
}

// The seconds of a training of this many steps outside of its steps, each of which has its share of a validation: the
// last validation may come early.
double outside_steps(double steps, const MeasuredStageFacts& facts) {
  if (facts.validate_every == 0) return facts.once;
  const double intervals = steps / static_cast<double>(facts.validate_every);
  return facts.once + (std::ceil(intervals) - intervals) * facts.validation;
}

// The steps of a training that has these seconds, and that validates after its last step, whichever that is.
double steps_in(double seconds, const MeasuredStageFacts& facts, const RecipePlan& plan) {
  return std::max(std::floor((seconds - facts.once - facts.validation) / plan.step.median), 0.0);
}

// The steps of one training, as its length or its own time ends it; infinite where neither does.
double steps_of_training(const MeasuredStageFacts& facts, const RecipePlan& plan) {
  double steps = infinity;
  if (facts.steps > 0) steps = static_cast<double>(facts.steps);
  if (facts.training_time > 0) steps = std::min(steps, steps_in(facts.training_time, facts, plan));
  return steps;
}

// How many times as long as one training all trainings of the stage take. A process trains whole trials.
double rounds(const MeasuredStageFacts& facts) {
  const auto trainings = static_cast<double>(facts.trainings), workers = static_cast<double>(facts.workers);
  const auto repeats = static_cast<double>(facts.repeats), at_end = static_cast<double>(facts.at_end);
  const double of_worker = std::ceil((trainings - at_end) / repeats / workers) * repeats + std::ceil(at_end / workers);
  return std::max(trainings / facts.at_once, of_worker);
}

// The time of this many trainings that take turns, while all workers train.
MedianInterval time_of_turns(std::int64_t trainings, const MeasuredStageFacts& facts, const MedianInterval& training) {
  return training.times(static_cast<double>(trainings) * static_cast<double>(facts.workers) / facts.at_once);
}

// Whether what follows from the number of trainings and their length is the most that they can take.
bool are_seconds_most(const MeasuredStageFacts& facts) { return facts.may_be_fewer || facts.together > 1; }

// The time of the trials that begin within the stage's own time, the last of which end after it.
MedianInterval begun_in_time(const MeasuredStageFacts& facts, const MedianInterval& training) {
  const double time = facts.stage_time;
  const MedianInterval last = time_of_turns(std::max(facts.repeats, facts.together), facts, training);
  if (are_seconds_most(facts)) return plus(last, time);
  return {.median = std::ceil(time / last.median) * last.median, .low = time, .high = time + last.high};
}

// The time of all trainings of the stage, or of those that begin within its own time; unknown where neither bounds
// them.
std::optional<MedianInterval> all_trainings(const MeasuredStageFacts& facts, const MedianInterval& training) {
  std::optional<MedianInterval> all;
  if (facts.trainings > 0) all = training.times(rounds(facts));
  if (facts.stage_time == 0) return all;
  const MedianInterval begun = begun_in_time(facts, training);
  if (!all) return begun;
  return MedianInterval{.median = std::min(all->median, begun.median),
                        .low = std::min(all->low, begun.low),
                        .high = std::min(all->high, begun.high)};
}

// The seconds of the stage until its trainings have ended, where its length is known.
double seconds_of_trainings(const MeasuredStageFacts& facts, const RecipePlan& plan) {
  return plan.whole->median - facts.after;
}

// The seconds of the budget in which the trainings of the stage end; infinite without a budget of time.
double usable_by_trainings(const MeasuredStageFacts& facts, const RecipePlan& plan) {
  return plan.usable ? *plan.usable * facts.trainings_share : infinity;
}

// The FLOPs of this number of steps of a training from the first on.
double flops_until(double steps, const MeasuredStageFacts& facts) {
  if (facts.steps_per_epoch == 0 || facts.epoch_flops == 0) return facts.flops * steps;
  const auto in_epoch = static_cast<double>(facts.steps_per_epoch);
  const double epochs = std::floor(steps / in_epoch);
  return epochs * facts.epoch_flops + (steps - epochs * in_epoch) * facts.full_step_flops;
}

// The steps that fit into these FLOPs, as a run counts them.
double steps_within(double flops, const MeasuredStageFacts& facts) {
  if (facts.steps_per_epoch == 0 || facts.epoch_flops == 0 || std::isinf(flops)) return std::floor(flops / facts.flops);
  const double epochs = std::floor(flops / facts.epoch_flops);
  return epochs * static_cast<double>(facts.steps_per_epoch) +
         std::floor((flops - epochs * facts.epoch_flops) / facts.full_step_flops);
}

std::optional<double> flops_of(const MeasuredStageFacts& facts, const RecipePlan& plan) {
  const double steps = steps_of_training(facts, plan);
  if (facts.flops == 0 || !plan.whole || std::isinf(steps)) return std::nullopt;
  const double all = facts.trainings > 0 ? static_cast<double>(facts.trainings) : infinity;
  if (!plan.ends_by_time) return flops_until(steps, facts) * all;
  if (facts.together > 1) return std::nullopt;  // nobody knows how much a group gets done in this time
  const double in_time = facts.at_once * seconds_of_trainings(facts, plan) / plan.training->median;
  return flops_until(steps, facts) * std::min(all, in_time);
}

// The whole trainings that end within the budget's time, and whose trials begin within the stage's own time.
double trainings_in_time(const MeasuredStageFacts& facts, const RecipePlan& plan) {
  double trainings = infinity;
  if (plan.usable) trainings = facts.at_once * std::floor(usable_by_trainings(facts, plan) / plan.training->median);
  if (facts.stage_time == 0) return trainings;
  const double rounds_begun = std::ceil(facts.stage_time / time_of_turns(facts.repeats, facts, *plan.training).median);
  return std::min(trainings, rounds_begun * static_cast<double>(facts.workers * facts.repeats));
}

WhatFits within_bounds(const MeasuredStageFacts& facts, const RecipePlan& plan) {
  double seconds = usable_by_trainings(facts, plan), flops = facts.most_flops > 0 ? facts.most_flops : infinity;
  if (facts.stage_time > 0) seconds = std::min(seconds, facts.stage_time);
  double steps = facts.training_time > 0 ? steps_in(facts.training_time, facts, plan) : infinity;
  if (std::isfinite(seconds)) steps = std::min(steps, steps_in(seconds, facts, plan));
  if (facts.flops > 0) steps = std::min(steps, steps_within(flops, facts));
  if (std::isinf(steps)) return {};
  WhatFits fits;
  fits.steps = steps;
  if (facts.steps_per_epoch > 0) fits.epochs = steps / static_cast<double>(facts.steps_per_epoch);
  if (!plan.training) return fits;
  double trainings = trainings_in_time(facts, plan);
  if (const double own = steps_of_training(facts, plan); facts.flops > 0 && std::isfinite(own) && own > 0)
    trainings = std::min(trainings, flops / flops_until(own, facts));
  if (std::isfinite(trainings))
    fits.trainings = std::max(static_cast<std::int64_t>(std::min(trainings, most_counted)), std::int64_t{0});
  return fits;
}

// The passes of a training over unchanged data, as far as the budget lets it come.
double passes_of(const MeasuredStageFacts& facts, const RecipePlan& plan) {
  double steps = steps_of_training(facts, plan);
  if (plan.ends_first == EndsFirst::budget && plan.fits.steps) steps = std::min(steps, *plan.fits.steps);
  return std::isfinite(steps) ? facts.step_passes * steps : 0;
}

// The least seconds that the trainings take, as far as is known: a group may take as little as one of them.
double least_seconds(const MeasuredStageFacts& facts, const RecipePlan& plan) {
  if (!plan.seconds_are_most) return seconds_of_trainings(facts, plan);
  if (facts.trainings == 0) return facts.may_end_early ? 0 : facts.stage_time;
  if (facts.may_be_fewer) return 0;
  const double one = plan.training->median, least = one * rounds(facts) / static_cast<double>(facts.together);
  return std::max(facts.stage_time > 0 ? std::min(least, facts.stage_time) : least, one);
}

EndsFirst end_of(const MeasuredStageFacts& facts, const RecipePlan& plan) {
  if (facts.within == 0 && facts.most_flops == 0) return EndsFirst::unknown;
  // A fit without a length of its own goes on until the budget ends it.
  if (!plan.whole) return facts.is_task || facts.trainings == 0 ? EndsFirst::unknown : EndsFirst::budget;
  const auto is_out = [&](double seconds, double flops) {
    return seconds > usable_by_trainings(facts, plan) || (facts.most_flops > 0 && flops > facts.most_flops);
  };
  if (!is_out(seconds_of_trainings(facts, plan), plan.flops.value_or(infinity))) return EndsFirst::length;
  const double least_flops = plan.flops_are_most ? 0 : plan.flops.value_or(0);
  return is_out(least_seconds(facts, plan), least_flops) ? EndsFirst::budget : EndsFirst::unknown;
}

void set_largest(RecipePlan& plan, const MeasuredStageFacts& facts) {
  if (facts.parameters == 0 || (plan.usable && *plan.usable <= 0)) return;
  double factor = infinity;
  const auto bound = [&](double other, std::string_view by) {
    if (!(other < factor)) return;
    factor = other;
    plan.largest_by = by;
  };
  if (facts.room > 0 && facts.model_memory > 0) bound(facts.room / facts.model_memory, "memory");
  // A stage that its own time ends takes this time with any model.
  if (plan.whole && facts.training_time == 0 && facts.stage_time == 0 && facts.flops > 0) {
    if (plan.usable) bound(usable_by_trainings(facts, plan) / seconds_of_trainings(facts, plan), "time");
    if (facts.most_flops > 0) bound(facts.most_flops / *plan.flops, "FLOPs");
  }
  const bool is_least =
      (plan.largest_by == "time" && plan.seconds_are_most) || (plan.largest_by == "FLOPs" && plan.flops_are_most);
  if (is_least) plan.largest_by = {};
  if (!plan.largest_by.empty()) plan.largest_parameters = facts.parameters * factor;
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

}  // namespace

RecipePlan plan_of(const MeasuredStageFacts& facts) {
  RecipePlan plan;
  plan.step = about(widened(facts.step), facts.wall);
  if (facts.steps_per_epoch > 0) plan.epoch = plan.step.times(static_cast<double>(facts.steps_per_epoch));
  if (const auto steps = static_cast<double>(facts.steps); steps > 0)
    plan.training = plus(plan.step.times(steps), outside_steps(steps, facts));
  plan.training = at_most(plan.training, facts.training_time);
  if (plan.training) plan.whole = all_trainings(facts, *plan.training);
  if (plan.whole) {
    plan.ends_by_time = facts.trainings == 0 || plan.whole->median < plan.training->median * rounds(facts);
    plan.whole = plus(*plan.whole, facts.after);
    plan.seconds_are_most = are_seconds_most(facts);
    plan.flops_are_most = facts.may_be_fewer;
  }
  if (plan.whole && facts.watts > 0 && facts.at_once == 1) plan.joules = facts.watts * plan.whole->median;
  plan.flops = flops_of(facts, plan);
  if (facts.within > 0) {
    const BudgetTerms terms{.seconds = facts.within, .reserve = facts.reserve};
    plan.usable = end_of_stage(terms, facts.start, facts.share) - facts.start;
  }
  if (facts.flops > 0) plan.rate = facts.flops / plan.step.median;
  if (plan.rate && facts.peak > 0) plan.mfu = *plan.rate / facts.peak;
  plan.fits = within_bounds(facts, plan);
  plan.ends_first = end_of(facts, plan);
  set_largest(plan, facts);
  plan.passes = passes_of(facts, plan);
  return plan;
}

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
          .trainings = value["trainings"].integer(),
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
  Value::List flags;
  if (plan.is_data_inefficient()) flags.emplace_back("data_inefficient");
  return Value::Map{{"kind", "plan"},
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
                    // No law of the loss is known before the recipe has trained.
                    {"approaches", Value()},
                    {"loss", Value()},
                    {"flags", std::move(flags)}};
}

}  // namespace trainlab
