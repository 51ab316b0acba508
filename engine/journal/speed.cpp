#include "journal/speed.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>

#include "run/run.h"

namespace trainlab {
namespace {

// Times of steps are counted in bins whose borders are 2 % apart, from a microsecond to a day.
constexpr double shortest = 1e-6, longest = 86'400;
const double per_bin = std::log(1.02);
const auto bins = static_cast<std::size_t>(std::ceil(std::log(longest / shortest) / per_bin)) + 1;

// Less than this much training says nothing about the rest of it.
constexpr double first_look = 5, look_every = 5;  // seconds
// A share above this one is told. TensorFlow's profiler calls a step that waits for 20 % of its time highly input-bound
// (openxla/xprof, op_stats_to_input_pipeline_analysis.cc).
constexpr double told_share = 0.2;

std::string whole_percent(double share) { return std::to_string(static_cast<int>(std::lround(100 * share))) + " %"; }

std::string said_by(const std::string& text, const std::string& command) {
  return command.empty() ? "" : text + command;
}

}  // namespace

std::optional<double> seconds_without_core() {
  // Nanoseconds on a core, nanoseconds of waiting for one, time slices.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/thread-self/schedstat", "re"),
                                                             std::fclose);
  unsigned long long on_core = 0, waited = 0;
  if (!file || std::fscanf(file.get(), "%llu %llu", &on_core, &waited) != 2) return std::nullopt;
  return static_cast<double>(waited) * 1e-9;
}

SpeedMeter::SpeedMeter(WithoutCore without_core, Cores cores)
    : without_core_(std::move(without_core)), cores_(std::move(cores)), steps_(bins, 0) {}

void SpeedMeter::begin(double now, std::string on_input, std::string on_cores) {
  begin_ = now;
  on_input_ = std::move(on_input);
  on_cores_ = std::move(on_cores);
  next_look_ = now + first_look;
  wait_at_begin_ = without_core_();
}

void SpeedMeter::count(double seconds) {
  const double bin = std::log(std::clamp(seconds, shortest, longest) / shortest) / per_bin;
  steps_[static_cast<std::size_t>(bin)] += 1;
  step_count_ += 1;
}

double SpeedMeter::quantile(double share) const {
  const double wanted = share * static_cast<double>(step_count_);
  double below = 0;
  std::size_t bin = 0;
  while (below + steps_[bin] < wanted) below += steps_[bin++];
  return shortest * std::exp((static_cast<double>(bin) + 0.5) * per_bin);
}

void SpeedMeter::look(double now) {
  next_look_ = now + look_every;
  const double waiting = input_ / (input_ + training_);
  if (!told_input_ && waiting > told_share) {
    told_input_ = true;
    notes_.push_back("waiting for data takes " + whole_percent(waiting) + " of the training time" +
                     said_by("; what limits the input is said by: ", on_input_));
  }
  if (!told_core_) look_for_cores(now);
}

void SpeedMeter::look_for_cores(double now) {
  const double without = share_without_core(now).value_or(0);
  if (without <= told_share) return core_look_.reset();
  const std::optional<double> waited = without_core_();
  const std::optional<CoreSeconds> cores = cores_();
  if (!waited || !cores) return core_look_.reset();
  const std::optional<CoreLook> before = std::exchange(core_look_, CoreLook{now, *waited, *cores});
  if (!before) return;
  const double seconds = now - before->at;
  const double other_cores = cores_of_others(cores->others - before->cores.others, seconds);
  const WaitReasons reasons =
      reasons_of_wait(std::clamp((*waited - before->without_core) / seconds, 0.0, 1.0), other_cores / usable_cores());
  const bool others = reasons.is_for_others();
  told_core_ = (others ? reasons.for_others : reasons.for_own) > told_share;
  if (!told_core_) return;
  notes_.push_back((others ? "other work has the cores: for " : "the run has more threads than cores: for ") +
                   whole_percent(without) + " of the time the training was ready to go on and waited for a core" +
                   (others ? "" : "; fewer of them (--threads, loader.threads, workers) may be faster") +
                   said_by("; what its steps wait for is said by: ", on_cores_));
}

std::optional<double> SpeedMeter::share_without_core(double now) const {
  const std::optional<double> waited = without_core_();
  if (!waited || !wait_at_begin_ || now <= begin_) return std::nullopt;
  return (*waited - *wait_at_begin_) / (now - begin_);
}

Value SpeedMeter::to_value(double now, std::int64_t peak_memory) const {
  Value speed;
  Value steps, shares;
  const double wall = now - begin_, stepping = training_ + input_;
  if (step_count_ > 0) {
    steps.set("median", quantile(0.5));
    steps.set("p95", quantile(0.95));
  }
  speed.set("step_seconds", std::move(steps));
  if (wall > 0) {
    const double known = stepping + evaluation_ + checkpoint_;
    shares.set("training", training_ / wall);
    shares.set("input", input_ / wall);
    shares.set("evaluation", evaluation_ / wall);
    shares.set("checkpoint", checkpoint_ / wall);
    shares.set("other", std::max(wall - known, 0.0) / wall);
  }
  speed.set("shares", std::move(shares));
  const bool has_rate = samples_ > 0 && stepping > 0;
  speed.set("samples_per_second", has_rate ? Value(static_cast<double>(samples_) / stepping) : Value());
  const std::optional<double> without = share_without_core(now);
  speed.set("without_core", without ? Value(*without) : Value());
  speed.set("peak_memory", peak_memory);
  return speed;
}

}  // namespace trainlab
