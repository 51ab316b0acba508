#include "find/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/clock.h"
#include "core/statistics.h"
#include "measured_noise.h"
#include "optim/optimizer.h"
#include "optim/scaled_rate.h"
#include "range_test.h"
#include "tensor/free_memory.h"
#include "tensor/types.h"
#include "train/fit_plan.h"
#include "train/memory_prediction.h"

namespace trainlab {
namespace {

// StepClock: ends a training when enough steps have been timed, which is after half a second and 12 steps, or after 200
// steps.
class StepClock final : public LoopObserver {
 public:
  void stepped(std::int64_t) override {
    const double now = steady_seconds();
    times_.push_back(now);
    const auto steps = static_cast<std::int64_t>(times_.size());
    if (steps >= most || (steps >= least && now - times_.front() > long_enough)) throw SeenEnough();
  }
  // The median seconds of a step, without the first steps, which fill buffers; NaN where there were no others.
  double median() const {
    std::vector<double> all;
    for (std::size_t i = cold; i + 1 < times_.size(); ++i) all.push_back(times_[i + 1] - times_[i]);
    return upper_median(std::move(all));
  }
  static constexpr std::int64_t most = 200;

 private:
  static constexpr std::int64_t least = 12;
  static constexpr std::size_t cold = 3;
  static constexpr double long_enough = 0.5;
  std::vector<double> times_;
};

// The sizes of a micro-batch to time, in rising order: from a quarter of the recipe's size to 64 times that size.
std::vector<std::int64_t> sizes_around(std::int64_t batch) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = batch; size >= 1 && size * 4 >= batch; size /= 2) sizes.push_back(size);
  std::ranges::reverse(sizes);
  for (std::int64_t size = 2 * batch; size <= 64 * batch; size *= 2) sizes.push_back(size);
  return sizes;
}

// The most bytes that tensors on the CPU may take by a prediction: the limit of the fit or of the process, or nine
// tenths of the room where there is no limit, because a prediction leaves out some memory.
double predictable_room(const FitPlan& plan) {
  const auto room = static_cast<double>(room_of(plan));
  return memory_limit(plan) > 0 ? room : 0.9 * room;
}

// Raises an error that lacks_memory() where the noise cannot be measured in this training, because the sums of
// gradients have no room on the CPU beside the training. Another device says so when it is asked for the memory.
void check_room_for_noise(const FitPlan& plan) {
  if (!plan.device.is_cpu()) return;
  const MemoryPrediction training = predict_memory(plan);
  const auto sums = static_cast<double>(noise_bytes(plan));
  const double needed = static_cast<double>(training.memory.training()) + sums, room = predictable_room(plan);
  if (needed <= room) return;
  throw plan.options
      .error("",
             fmt::format("expected room for {}{}, of which {} are sums of gradients that tell their noise, found {}",
                         training.before_amount(), memory_text(needed), memory_text(sums), memory_text(room)))
      .hint("a smaller batch or a smaller model needs less memory")
      .lacking_memory();
}

// Raises an error that lacks_memory() where steps of the plan have no room on the CPU; returns the bytes that they
// take, 0 where these are unknown. Another device says itself what does not fit, when it is asked for the memory.
std::int64_t predicted_memory(const FitPlan& plan) {
  if (!plan.device.is_cpu()) return 0;
  const MemoryPrediction predicted = predict_memory(plan);
  const std::int64_t bytes = predicted.memory.step();
  if (const double room = predictable_room(plan); static_cast<double>(bytes) > room) {
    throw plan.options
        .error("batch", fmt::format("a step of {} samples takes {}{}, found room for {}", plan.length.batch,
                                    predicted.before_amount(), memory_text(bytes), memory_text(room)))
        .hint("a smaller batch needs less memory")
        .lacking_memory();
  }
  return predicted.is_least() ? 0 : bytes;
}

// The time of steps of `accumulate` micro-batches of this size. Raises an error that lacks_memory() where a step has no
// room, and another one where the training ends after too few steps, as it does when its loss is not finite.
BatchPoint timed_size(Trainings& trainings, std::int64_t size, std::int64_t accumulate) {
  const std::int64_t batch = size * accumulate;
  Value loader = trainings.fit()["loader"];
  loader.set("drop_last", true);  // what is left of an epoch may be a single sample, of which a norm has no variance
  // The clock ends the training before it validates, and so takes no validation for a part of a step. The time of a
  // step does not depend on the rate, and the recipe's own rate may need the schedule that is left out here.
  const FitPlan sized = trainings.plan(trainings.changed({{"batch", size},
                                                          {"loader", loader},
                                                          {"accumulate", accumulate},
                                                          {"effective", Value()},
                                                          {"epochs", Value()},
                                                          {"flops", Value()},
                                                          {"steps", StepClock::most},
                                                          {"optim", with_rate(trainings.fit()["optim"], lowest_rate)},
                                                          {"schedule", Value()},
                                                          {"validate", fmt::format("{} steps", StepClock::most)}}));
  const std::int64_t memory = predicted_memory(sized);
  const auto clock = std::make_shared<StepClock>();
  const Value summary = with_torch_errors([&] { return trainings.run(sized, {.observers = {clock}}); });
  const double seconds = clock->median();
  if (std::isnan(seconds)) {
    throw sized.options
        .error("batch", fmt::format("steps of {} samples cannot be timed: {}", batch, summary["reason"].string()))
        .hint("a batch can be found only for a training that learns: trainlab run says what is wrong with it");
  }
  return {.batch = batch, .seconds = seconds, .memory = memory};
}

// Times steps of each size, as far as the data and the memory go, and as long as a larger size may pay for some knee in
// the range.
void time_sizes(FoundBatch& found, Trainings& trainings, const FitPlan& plan, const BatchOptions& options) {
  const std::int64_t held = plan.data.train.epoch_size();
  for (const std::int64_t size : sizes_around(plan.loader.batch)) {
    const std::int64_t batch = size * found.accumulate;
    if (batch > held) {
      found.ended_by = fmt::format("the training part has {} samples", held);
      return;
    }
    if (size > plan.loader.batch && takes_longer(found.curve, found.knee_high)) {
      found.ended_by = "larger batches take longer";
      return;
    }
    options.context.tell(fmt::format("steps of {} samples", batch));
    try {
      found.curve.push_back(timed_size(trainings, size, found.accumulate));
    } catch (const Error& error) {
      // Without the time of the recipe's own size, the other sizes cannot be judged.
      if (size <= plan.loader.batch || !error.lacks_memory()) throw;
      found.ended_by = error.message();
      return;
    }
  }
}

}  // namespace

FoundBatch find_batch(const Registry& registry, const Spec& fit, const RunSettings& settings,
                      const BatchOptions& options) {
  Trainings trainings(registry, fit, settings, options.context);
  const Options whole = trainings.changed({});
  FitPlan plan =
      trainings.plan(has_length(whole) ? whole : trainings.changed({{"steps", steps_with_noise(options.steps)}}));
  // The budget of a fit is for its training alone, as it is without the search.
  if (plan.budget > 0) plan.budget += noise_bytes(plan);
  check_room_for_noise(plan);
  const bool is_effective = whole.given("effective");
  FoundBatch found{.batch = plan.length.batch,
                   .suggestion = plan.length.batch,
                   .accumulate = plan.accumulate,
                   .option = is_effective ? "effective" : "batch",
                   .is_number = is_effective || !is_auto_batch(whole)};
  found.knee_low = found.knee_high = std::nan("");
  try {
    options.context.tell("gradients at three places of a training");
    found.noise = measured_noise(trainings, plan, options.steps);
    // The noise scale counts from the middle of the training: near the end the gradient is small, and the scale no
    // longer tells how much a larger batch would have saved.
    const NoiseScale& middle = found.noise[1].scale;
    found.knee_low = middle.low / 4;
    found.knee_high = middle.high;
    time_sizes(found, trainings, plan, options);
  } catch (const SearchBudgetUsed& used) {
    found.stopped = found.ended_by = used.message();
  }
  if (std::ranges::count(found.curve, found.batch, &BatchPoint::batch) > 0) {
    judge_sizes(found);
  } else {
    found.curve.clear();
  }
  const Options optimizer = plan.options.child("optim");
  found.rate = found.scaled_rate = std::nan("");
  try {
    const double rate = learning_rate(optimizer);
    if (rate == 0) return found;
    found.scaled_rate =
        scaled_rate(rate, static_cast<double>(found.batch), static_cast<double>(found.suggestion), optimizer);
    found.rate = rate;
  } catch (const Error&) {
    // The optimizer has no rule for the rate, which stays unknown.
  }
  return found;
}

}  // namespace trainlab
