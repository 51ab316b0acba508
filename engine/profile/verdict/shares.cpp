// Computes the parts of a step from the figures of a profile.
#include <algorithm>

#include "profile/profile.h"

namespace trainlab {

namespace {

constexpr std::size_t index_of(Phase phase) { return static_cast<std::size_t>(phase); }

// The share of the time in which the training thread had no core.
std::optional<double> run_queue(const ThreadFigures& thread) {
  if (!thread.waited || thread.seconds <= 0) return std::nullopt;
  return std::clamp(*thread.waited / thread.seconds, 0.0, 1.0);
}

// Estimated seconds of a step that the calls of operators in a phase take, at most `of`, a part of the phase. The time
// of a call was measured on a thread that has a core; a thread that waits for a core needs longer for a call.
double calls_in(const Profile& profile, Phase phase, double of) {
  const double running = std::max(1 - run_queue(profile.steps.thread).value_or(0), 0.01);
  return std::min(of, profile.steps.operators_in(phase).calls * profile.call_seconds / running);
}

// The share of the time of the recipe's functions that operators take. Counting lengthens both in proportion.
double operator_part(const Profile& profile) {
  const double counted = profile.steps.counted_self[index_of(Phase::callback)];
  if (counted <= 0) return 0;
  return std::min(1.0, profile.steps.operators_in(Phase::callback).seconds / counted);
}

// Divides the seconds of each part by the whole, so that the parts sum to 1.
Shares divided(Shares shares, double whole) {
  for (double* part : {&shares.input, &shares.transfer, &shares.forward, &shares.backward, &shares.optimizer,
                       &shares.metrics, &shares.recipe, &shares.synchronisation, &shares.launch_gap, &shares.checkpoint,
                       &shares.evaluation, &shares.other})
    *part = whole > 0 ? *part / whole : 0;
  return shares;
}

}  // namespace

Shares shares_of(const Profile& profile) {
  const StepFigures& steps = profile.steps;
  Shares shares;
  // The seconds of a phase without the calls of its operators, which are added to the launch gap.
  const auto arithmetic = [&](Phase phase, double seconds) {
    const double calls = calls_in(profile, phase, seconds);
    shares.launch_gap += calls;
    return seconds - calls;
  };
  const auto phase = [&](Phase one) { return arithmetic(one, steps.per_step(one)); };
  const double functions = steps.per_step(Phase::callback);
  const double operators = functions * operator_part(profile);
  shares.input = steps.per_step(Phase::fetch);
  shares.transfer = steps.per_step(Phase::move);
  shares.forward = phase(Phase::forward) + phase(Phase::loss) + arithmetic(Phase::callback, operators);
  shares.backward = phase(Phase::backward);
  shares.optimizer = phase(Phase::gradients) + phase(Phase::optimizer) + phase(Phase::average);
  shares.recipe = functions - operators + steps.callbacks;
  shares.synchronisation = steps.per_step(Phase::read);
  const double validation = profile.validation.per_step();
  const double of_metrics =
      profile.validation.seconds > 0 ? std::min(1.0, steps.validation_metrics / profile.validation.seconds) : 0;
  shares.metrics = validation * of_metrics + steps.per_step(Phase::metrics);
  shares.evaluation = validation * (1 - of_metrics);
  shares.checkpoint = profile.checkpoint.per_step();
  shares.other = steps.per_step(Phase::step) + steps.between;
  return divided(shares, profile.wall());
}

Measures measures_of(const Profile& profile) {
  const StepFigures& steps = profile.steps;
  Measures m;
  m.steps = steps.steps;
  m.no_room = profile.no_room;
  m.is_precise = steps.is_precise;
  m.is_steady = steps.is_steady();
  m.is_synchronous = profile.is_synchronous;
  m.shares = shares_of(profile);
  m.cores = profile.cores;
  if (steps.thread.seconds > 0) {
    m.run_queue = run_queue(steps.thread);
    m.cores_busy = steps.thread.process_cpu / steps.thread.seconds;
  }
  if (steps.counted > 0) {
    double calls = 0, seconds = 0;
    for (const OperatorFigures& one : steps.operators) {
      calls += one.calls;
      seconds += one.seconds;
    }
    // The operators of evaluations are not part of these shares.
    calls -= steps.operators_in(Phase::validate).calls;
    seconds -= steps.operators_in(Phase::validate).seconds;
    m.operators = calls;
    if (calls > 0) m.operator_seconds = seconds / calls;
  }
  const double passes = profile.pass_seconds();
  if (profile.flops && passes > 0 && profile.is_synchronous) m.flops = *profile.flops / passes;
  return m;
}

}  // namespace trainlab
