#include "plan/recipe_plan.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "run/budget.h"

namespace trainlab {

namespace {

constexpr double least_half_width = 0.03;
constexpr double most_counted = 1e15;  // trainings; more fit into no budget that anybody has
constexpr double infinity = std::numeric_limits<double>::infinity();

MedianInterval plus(const MedianInterval& a, double seconds) {
  return {a.median + seconds, a.low + seconds, a.high + seconds};
}

MedianInterval plus(const MedianInterval& a, const MedianInterval& b) {
  return {a.median + b.median, a.low + b.low, a.high + b.high};
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

// The share of the steps of a whole training that a training of the wave takes.
double share_of(const TrainingWave& wave, const MeasuredStageFacts& facts) {
  if (wave.validations == 0 || facts.steps == 0) return 1;
  const auto validations = static_cast<double>(wave.validations), every = static_cast<double>(facts.validate_every);
  return std::min(validations * every / static_cast<double>(facts.steps), 1.0);
}

// The sum over all trainings of the stage; `each`: of a training of a wave, where one at the end counts as 1.
double all_of(const MeasuredStageFacts& facts, const std::function<double(const TrainingWave&)>& each) {
  auto all = static_cast<double>(facts.at_end);
  for (const TrainingWave& wave : facts.waves) {
    const double trials = static_cast<double>(wave.trials) * static_cast<double>(wave.times);
    all += trials * static_cast<double>(facts.repeats) * each(wave);
  }
  return all;
}

// The time of a training of the wave.
MedianInterval time_of(const TrainingWave& wave, const MeasuredStageFacts& facts, const RecipePlan& plan) {
  const double share = share_of(wave, facts);
  return share < 1 ? plus(plan.step.times(share * static_cast<double>(facts.steps)), facts.once) : *plan.training;
}

// How many times as long as one training this many trials take that may go side by side. A process trains whole trials.
double turns(double trials, double repeats, const MeasuredStageFacts& facts) {
  return std::max(trials * repeats / facts.at_once, std::ceil(trials / static_cast<double>(facts.workers)) * repeats);
}

// The time of all trainings of a stage that has waves, one after the other.
MedianInterval time_of_waves(const MeasuredStageFacts& facts, const RecipePlan& plan) {
  MedianInterval all = plan.training->times(turns(static_cast<double>(facts.at_end), 1, facts));
  for (const TrainingWave& wave : facts.waves) {
    const double of_wave = turns(static_cast<double>(wave.trials), static_cast<double>(facts.repeats), facts);
    all = plus(all, time_of(wave, facts, plan).times(of_wave * static_cast<double>(wave.times)));
  }
  return all;
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
  if (are_seconds_most(facts) || facts.has_segments()) return plus(last, time);
  return {.median = std::ceil(time / last.median) * last.median, .low = time, .high = time + last.high};
}

// The time of all trainings of the stage, or of those that begin within its own time; unknown where neither bounds
// them.
std::optional<MedianInterval> all_trainings(const MeasuredStageFacts& facts, const RecipePlan& plan) {
  std::optional<MedianInterval> all;
  if (!facts.waves.empty()) all = time_of_waves(facts, plan);
  if (facts.stage_time == 0) return all;
  const MedianInterval begun = begun_in_time(facts, *plan.training);
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
  const double all = facts.waves.empty() ? infinity : facts.whole_trainings();
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

// The steps of a training, as far as the budget lets it come; 0 where nobody knows them.
double steps_reached(const MeasuredStageFacts& facts, const RecipePlan& plan) {
  double steps = steps_of_training(facts, plan);
  if (plan.ends_first == EndsFirst::budget && plan.fits.steps) steps = std::min(steps, *plan.fits.steps);
  return std::isfinite(steps) ? steps : 0;
}

std::optional<Plan> plan_by(const KnownLaw& law, const MeasuredStageFacts& facts, const RecipePlan& plan) {
  const double flops = flops_until(steps_reached(facts, plan), facts);
  if (facts.parameters == 0 || flops == 0) return std::nullopt;
  PlanQuestion question{
      .parameters = facts.parameters, .tokens = flops / (flops_per_parameter_and_token * facts.parameters), .law = law};
  if (plan.passes > 1) question.unique_tokens = *question.tokens / plan.passes;
  return make_plan(question);
}

// The least seconds that the trainings take, as far as is known: a group may take as little as one of them.
double least_seconds(const MeasuredStageFacts& facts, const RecipePlan& plan) {
  if (!plan.seconds_are_most) return seconds_of_trainings(facts, plan);
  if (facts.waves.empty()) return facts.may_end_early ? 0 : facts.stage_time;
  if (facts.may_be_fewer) return 0;
  const double least = time_of_waves(facts, plan).median / static_cast<double>(facts.together);
  return std::max(facts.stage_time > 0 ? std::min(least, facts.stage_time) : least,
                  time_of(facts.waves.front(), facts, plan).median);
}

EndsFirst end_of(const MeasuredStageFacts& facts, const RecipePlan& plan) {
  if (facts.within == 0 && facts.most_flops == 0) return EndsFirst::unknown;
  // A fit without a length of its own goes on until the budget ends it.
  if (!plan.whole) return facts.is_task || facts.waves.empty() ? EndsFirst::unknown : EndsFirst::budget;
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

}  // namespace

double MeasuredStageFacts::trainings() const {
  return waves.empty() ? 0 : all_of(*this, [](const TrainingWave&) { return 1.0; });
}

double MeasuredStageFacts::whole_trainings() const {
  return all_of(*this, [this](const TrainingWave& wave) { return share_of(wave, *this); });
}

bool MeasuredStageFacts::has_segments() const {
  return std::ranges::any_of(waves, [this](const TrainingWave& wave) { return share_of(wave, *this) < 1; });
}

RecipePlan plan_of(const MeasuredStageFacts& facts, const std::optional<KnownLaw>& law) {
  RecipePlan plan;
  plan.step = about(widened(facts.step), facts.wall);
  if (facts.steps_per_epoch > 0) plan.epoch = plan.step.times(static_cast<double>(facts.steps_per_epoch));
  if (const auto steps = static_cast<double>(facts.steps); steps > 0)
    plan.training = plus(plan.step.times(steps), outside_steps(steps, facts));
  plan.training = at_most(plan.training, facts.training_time);
  if (plan.training) plan.whole = all_trainings(facts, plan);
  if (plan.whole) {
    plan.ends_by_time = facts.waves.empty() || plan.whole->median < time_of_waves(facts, plan).median;
    plan.whole = plus(*plan.whole, facts.after);
    const bool ends_in_segment = plan.ends_by_time && facts.has_segments();
    plan.seconds_are_most = are_seconds_most(facts) || ends_in_segment;
    plan.flops_are_most = facts.may_be_fewer || ends_in_segment;
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
  plan.passes = facts.step_passes * steps_reached(facts, plan);
  if (law) plan.by_law = plan_by(*law, facts, plan);
  return plan;
}

}  // namespace trainlab
