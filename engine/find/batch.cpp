#include "find/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/clock.h"
#include "core/statistics.h"
#include "optim/optimizer.h"
#include "optim/scaled_rate.h"
#include "run/budget.h"
#include "tensor/free_memory.h"
#include "tensor/memory.h"
#include "train/memory_prediction.h"
#include "trainings.h"

namespace trainlab {
namespace {

constexpr std::int64_t per_group = 4;
constexpr std::int64_t measured = per_group * static_cast<std::int64_t>(noise_groups);  // gradients at the same weights
constexpr std::int64_t places = 3;  // steps of a training at which gradients are measured

// NoiseMeter: lets the fit train, and at each step of `at` keeps the weights unchanged for `measured` steps, whose
// gradients are summed.
class NoiseMeter final : public GradientPass {
 public:
  NoiseMeter(double batch, std::vector<std::int64_t> at) : batch_(batch), at_(std::move(at)) {}

  std::string_view name() const override { return "gradient noise"; }
  bool comes_before_clip() const override { return true; }

  Verdict apply(std::span<at::Tensor> gradients, const StepFacts& facts) override {
    is_lost = is_lost || !std::isfinite(facts.loss.item<double>());
    if (is_lost) throw SeenEnough();
    if (trained_ < at_[found.size()]) {
      if (!facts.is_again) ++trained_;
      return {};
    }
    if (!facts.is_again) take(gradients);
    return {.skipped = std::vector<std::uint8_t>(facts.active.size(), 1)};
  }

  std::int64_t trained() const { return trained_; }

  std::vector<NoiseAt> found;
  bool is_lost = false;  // whether a loss was not finite

 private:
  void take(std::span<at::Tensor> gradients) {
    const auto group = static_cast<std::size_t>(taken_ / per_group);
    if (taken_ == 0) sums_.assign(noise_groups, {});
    std::vector<at::Tensor>& sum = sums_[group];
    if (sum.empty()) sum.resize(gradients.size());
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined()) continue;
      const at::Tensor flat = gradients[i].detach().reshape(-1).to(at::kFloat);
      totals_.squares[group] += flat.dot(flat).item<double>();
      sum[i] = sum[i].defined() ? sum[i].add_(flat) : flat.clone();
    }
    if (++taken_ < measured) return;
    for (std::size_t a = 0; a < noise_groups; ++a) {
      for (std::size_t b = 0; b < noise_groups; ++b) {
        for (std::size_t i = 0; i < gradients.size(); ++i) {
          if (sums_[a][i].defined() && sums_[b][i].defined())
            totals_.dots[a][b] += sums_[a][i].dot(sums_[b][i]).item<double>();
        }
      }
    }
    totals_.batch = batch_;
    totals_.per_group = static_cast<double>(per_group);
    found.push_back({trained_, noise_scale(totals_)});
    totals_ = {};
    sums_.clear();
    taken_ = 0;
    if (found.size() == at_.size()) throw SeenEnough();
  }

  double batch_;
  std::vector<std::int64_t> at_;  // numbers of trained steps
  std::int64_t trained_ = 0, taken_ = 0;
  std::vector<std::vector<at::Tensor>> sums_;  // sums of gradients by group and parameter
  GradientSums totals_;
};

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
  // The median seconds of a step, without the first steps, which fill buffers.
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

std::vector<NoiseAt> measured_noise(Trainings& trainings, const FitPlan& plan, std::int64_t longest) {
  const std::int64_t steps = std::min(longest, plan.length.total_steps - places * measured);
  if (steps < places) {
    throw plan.options
        .error("",
               fmt::format("expected at least {} steps, found {}", places * (measured + 1), plan.length.total_steps))
        .hint(fmt::format("gradients are measured at {} places, {} each: more epochs, as by --set epochs=20", places,
                          measured));
  }
  const auto meter = std::make_shared<NoiseMeter>(static_cast<double>(plan.length.batch),
                                                  std::vector<std::int64_t>{steps / 8, steps / 2, steps - 1});
  trainings.run(plan, {.passes = {meter}});
  if (std::ssize(meter->found) < places) {
    throw plan.options
        .error("", meter->is_lost ? fmt::format("the loss is not finite after {} steps", meter->trained())
                                  : fmt::format("the training ended after {} steps", meter->trained()))
        .hint("a batch can be found only for a training that learns: trainlab run says what is wrong with it");
  }
  return meter->found;
}

// Times steps of each size, as far as the data and the memory go.
void time_sizes(FoundBatch& found, Trainings& trainings, const FitPlan& plan, const BatchOptions& options) {
  const auto held = plan.data.train.epoch_size();
  const auto room = 0.9 * static_cast<double>(live_tensor_bytes() + free_tensor_memory());
  for (const std::int64_t size : sizes_around(plan.loader.batch)) {
    const auto ends = [&](std::string because) {
      // Without the time of the recipe's own size, the other sizes cannot be judged.
      if (size <= plan.loader.batch)
        throw plan.options.error("batch", "no steps of this size can be timed: " + because);
      found.ended_by = std::move(because);
    };
    if (size > held) return ends(fmt::format("the training part has {} samples", held));
    const std::int64_t batch = size * found.accumulate;
    const FitPlan sized = trainings.plan(trainings.changed({{"batch", size},
                                                            {"accumulate", found.accumulate},
                                                            {"effective", Value()},
                                                            {"epochs", Value()},
                                                            {"flops", Value()},
                                                            {"steps", StepClock::most},
                                                            {"schedule", Value()}}));
    const MemoryPrediction predicted = predict_memory(sized);
    const auto memory = static_cast<double>(predicted.memory.step());
    if (memory > room) {
      return ends(
          fmt::format("a step of {} samples would take {}{}", batch, predicted.before_amount(), memory_text(memory)));
    }
    options.context.tell(fmt::format("steps of {} samples", batch));
    const auto clock = std::make_shared<StepClock>();
    trainings.run(sized, {.observers = {clock}});
    found.curve.push_back({.batch = batch, .seconds = clock->median(), .memory = predicted.memory.step()});
  }
}

}  // namespace

FoundBatch find_batch(const Registry& registry, const Spec& fit, const RunSettings& settings,
                      const BatchOptions& options) {
  Trainings trainings(registry, fit, settings, options.context);
  const Options whole = trainings.changed({});
  const FitPlan plan =
      trainings.plan(has_length(whole) ? whole : trainings.changed({{"steps", options.steps + places * measured}}));
  FoundBatch found{.batch = plan.length.batch, .suggestion = plan.length.batch, .accumulate = plan.accumulate};
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
  } catch (const SearchTimeUsed&) {
    found.stopped = found.ended_by = budget_is_used;
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
