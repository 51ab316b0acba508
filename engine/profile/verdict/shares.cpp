// Computes the parts of a step from the figures of a profile.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "profile/profile.h"
#include "taken_cores.h"

namespace trainlab {

namespace {

constexpr std::size_t index_of(Phase phase) { return static_cast<std::size_t>(phase); }

// The share of the time in which the training thread had no core.
std::optional<double> run_queue(const ThreadFigures& thread) {
  if (!thread.waited || thread.seconds <= 0) return std::nullopt;
  return std::clamp(*thread.waited / thread.seconds, 0.0, 1.0);
}

// The use of the cores, where the time is long enough. The kernel counts in ticks of 10 ms, so that the seconds of each
// piece of time are wrong by about a tick, and those of n pieces by about √n ticks.
std::optional<CoreUse> known_core_use(const ThreadFigures& thread) {
  constexpr double tick = 0.01;
  if (!thread.cores || tick * std::sqrt(static_cast<double>(thread.pieces)) > largest_core_error * thread.seconds)
    return std::nullopt;
  return core_use(*thread.cores, thread.seconds);
}

// Estimated seconds of a step that the calls of operators in each phase take. The time of a call was measured on a
// thread that has a core, and is lengthened as the phase is by the wait for one. In which phases the thread waited is
// unknown: less in those whose time the calls alone explain, as where threads that the optimizer wakes have to wait. So
// the wait is divided among the phases in proportion to their time beyond the calls.
PhaseSeconds seconds_of_calls(const Profile& profile) {
  const StepFigures& steps = profile.steps;
  PhaseSeconds calls{};
  double beyond = 0;
  for (std::size_t i = 0; i < phase_count; ++i) {
    calls[i] = std::min(steps.self[i], steps.operators[i].calls * profile.call_seconds);
    beyond += steps.self[i] - calls[i];
  }
  if (beyond <= 0) return calls;
  const double waited = std::min(1.0, run_queue(steps.thread).value_or(0) * steps.mean / beyond);
  for (std::size_t i = 0; i < phase_count; ++i) {
    const double running = steps.self[i] - waited * (steps.self[i] - calls[i]);
    if (running > 0) calls[i] *= steps.self[i] / running;
  }
  return calls;
}

// The share of a phase's time that operators take. Counting lengthens both in proportion, and so does an interruption
// of one of the few counted steps, so that this share times the phase's time in the timed steps never exceeds it.
double operator_part(const StepFigures& steps, std::size_t phase) {
  if (steps.counted_self[phase] <= 0) return 0;
  return std::min(1.0, steps.operators[phase].seconds / steps.counted_self[phase]);
}

// Where a device works by itself, the time of a step is about that of the host asking for the work, or about that of
// the device doing it: the longer of the two hides the other. It is the host's where asking takes this share of the
// steps in which the device was waited for; each wait costs some microseconds itself.
constexpr double host_limits = 0.8;

// The seconds of a step by phase, and those of them in which operators are called and nothing is computed.
struct Parts {
  PhaseSeconds all{}, calls{};
  double operators = 0;  // seconds of the recipe's functions that operators take
};

// From the steps in which the device was waited for after each phase. They take longer than other steps, in which the
// host goes on meanwhile: the seconds are in proportion to those of the timed steps.
// `host_part`: operator_part() of the recipe's functions.
Parts parts_on_device(const StepFigures& steps, double host_part) {
  const auto sum = [](const PhaseSeconds& seconds) { return std::accumulate(seconds.begin(), seconds.end(), 0.0); };
  const double asking = sum(steps.asking), all = asking + sum(steps.waiting);
  const double scale = all > 0 ? steps.mean / all : 0;
  const bool is_limited_by_host = asking >= host_limits * all;
  Parts parts;
  for (std::size_t i = 0; i < phase_count; ++i) {
    parts.all[i] = scale * (steps.asking[i] + steps.waiting[i]);
    if (is_limited_by_host) parts.calls[i] = scale * steps.asking[i];
  }
  const std::size_t functions = index_of(Phase::callback);
  parts.operators = scale * (steps.waiting[functions] + host_part * steps.asking[functions]);
  return parts;
}

Parts parts_of(const Profile& profile) {
  const StepFigures& steps = profile.steps;
  if (steps.awaited > 0) return parts_on_device(steps, operator_part(steps, index_of(Phase::callback)));
  const double of_functions = operator_part(steps, index_of(Phase::callback));
  return {.all = steps.self,
          .calls = seconds_of_calls(profile),
          .operators = of_functions * steps.per_step(Phase::callback)};
}

// Divides the seconds of each part by the whole, so that the parts sum to 1.
Shares divided(Shares shares, double whole) {
  const auto share = [whole](double seconds) { return whole > 0 ? seconds / whole : 0; };
  for (double* part : {&shares.input, &shares.transfer, &shares.forward, &shares.backward, &shares.optimizer,
                       &shares.recipe, &shares.synchronisation, &shares.other})
    *part = share(*part);
  for (std::optional<double>* part : {&shares.metrics, &shares.launch_gap, &shares.checkpoint, &shares.evaluation})
    if (*part) *part = share(**part);
  return shares;
}

}  // namespace

Shares shares_of(const Profile& profile) {
  const StepFigures& steps = profile.steps;
  Shares shares;
  const Parts parts = parts_of(profile);
  const auto all = [&](Phase phase) { return parts.all[index_of(phase)]; };
  double launch_gap = 0;
  // The seconds of a phase, or of a part of it, without the calls of its operators, which are added to the launch gap.
  const auto arithmetic = [&](Phase phase, double seconds) {
    const double calls = std::min(parts.calls[index_of(phase)], seconds);
    launch_gap += calls;
    return seconds - calls;
  };
  const auto phase = [&](Phase one) { return arithmetic(one, all(one)); };
  const double functions = all(Phase::callback), operators = parts.operators;
  shares.input = all(Phase::fetch);
  shares.transfer = all(Phase::move);
  shares.forward = phase(Phase::forward) + phase(Phase::loss) + arithmetic(Phase::callback, operators);
  shares.backward = phase(Phase::backward);
  shares.optimizer = phase(Phase::gradients) + phase(Phase::optimizer) + phase(Phase::average);
  shares.recipe = functions - operators + steps.callbacks;
  shares.synchronisation = all(Phase::read);
  const double validation = profile.validation.per_step();
  const auto part = [](double inside, const Rhythm& whole) {
    return whole.seconds.value_or(0) > 0 ? std::min(1.0, inside / *whole.seconds) : 0;
  };
  const double of_metrics = part(steps.validation_metrics, profile.validation);
  shares.metrics = validation * of_metrics + all(Phase::metrics);
  shares.evaluation = validation * (1 - of_metrics);
  const double checkpoint = profile.checkpoint.per_step();
  const double of_functions = part(steps.commit_functions, profile.checkpoint);
  shares.recipe += checkpoint * of_functions;
  shares.checkpoint = checkpoint * (1 - of_functions);
  shares.other = all(Phase::step) + steps.between;
  shares.launch_gap = launch_gap;
  if (steps.counted == 0 && steps.awaited == 0) shares.launch_gap.reset();
  if (profile.checkpoint.is_unmeasured()) shares.checkpoint.reset();
  if (profile.validation.is_unmeasured()) {
    shares.evaluation.reset();
    shares.metrics.reset();
  }
  return divided(shares, profile.wall());
}

Measures measures_of(const Profile& profile) {
  const StepFigures& steps = profile.steps;
  Measures m;
  m.steps = steps.steps;
  m.no_room = profile.no_room;
  m.no_steps = profile.no_steps;
  m.lacks_rhythm = steps.cut_short && (profile.validation.is_unmeasured() || profile.checkpoint.is_unmeasured());
  m.is_precise = steps.is_precise;
  m.is_steady = steps.is_steady();
  m.is_synchronous = profile.is_synchronous;
  m.is_awaited = steps.awaited > 0;
  m.shares = shares_of(profile);
  m.cores = profile.cores;
  m.longest_function = steps.longest_function.path;
  const double whole = profile.wall();
  if (whole > 0) m.longest_share = steps.longest_function.seconds / whole;
  if (steps.thread.seconds > 0) {
    m.run_queue = run_queue(steps.thread);
    m.cores_busy = steps.thread.process_cpu / steps.thread.seconds;
    m.core_use = known_core_use(steps.thread);
  }
  if (steps.counted > 0) {
    double calls = 0, seconds = 0;
    for (std::size_t i = 0; i < phase_count; ++i) {
      if (i == index_of(Phase::validate)) continue;  // the operators of evaluations are not part of these shares
      calls += steps.operators[i].calls;
      seconds += operator_part(steps, i) * steps.self[i];
    }
    m.operators = calls;
    if (calls > 0 && steps.mean > 0) m.operator_seconds = seconds * steps.step.median / steps.mean / calls;
  }
  const double passes = profile.pass_seconds();
  if (profile.flops && passes > 0 && profile.is_synchronous) m.flops = *profile.flops / passes;
  return m;
}

}  // namespace trainlab
