// Steps measured: where the time of a training step goes, from the spans of the loop that trains.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/trace.h"
#include "profile/interval.h"

namespace trainlab {

using PhaseSeconds = std::array<double, phase_count>;

// Operators of LibTorch that the training thread called in a step, by the phase in which it called them.
struct OperatorFigures {
  double calls = 0;    // operators called by operators included
  double seconds = 0;  // in those that no operator called
};

// What the scheduler did to the training thread and to the process while steps were timed.
struct ThreadFigures {
  double seconds = 0;                 // wall time
  std::optional<double> waited = {};  // seconds in which the thread could run and had no core; unknown on some systems
  std::int64_t switches = 0;          // involuntary context switches
  double process_cpu = 0;             // seconds of all threads of the process
};

// A kind of work that comes between steps, of which each took `seconds` on average.
struct Occasional {
  std::int64_t count = 0;
  double seconds = 0;
};

struct StepFigures {
  // Seconds of a step: of blocks of consecutive steps, because a loader hands out batches in chunks. Without the
  // validations and checkpoints between the steps.
  Interval step;
  double mean = 0;              // seconds of a step
  PhaseSeconds self{};          // of `mean`, without what other phases took inside; the sum is `mean`
  double callbacks = 0;         // seconds of the recipe's functions between two steps
  double between = 0;           // other seconds between two steps
  std::int64_t steps = 0;       // that were timed
  std::int64_t cold = 0;        // that were dropped at the beginning
  bool has_interval = false;    // else there were too few steps, and `step` has the least and the greatest block
  bool is_precise = false;      // the interval is within ±2 % of the median
  std::optional<double> drift;  // the later half of the steps against the earlier half: 0.1 is slower by a tenth

  Occasional validation;
  double validation_metrics = 0;   // seconds of a validation in its metrics
  Occasional commit;               // of checkpoints
  std::int64_t commits_timed = 0;  // of these, those that came between the timed steps

  ThreadFigures thread;
  std::int64_t counted = 0;  // steps whose operators were counted, after the timed ones
  std::array<OperatorFigures, phase_count> operators{};
  PhaseSeconds counted_self{};  // of the counted steps, which counting makes longer

  // The times slow down or speed up by more than a twentieth: the figures are an average of different states.
  bool is_steady() const { return !drift || (*drift < 0.05 && *drift > -0.05); }
  double per_step(Phase phase) const { return self[static_cast<std::size_t>(phase)]; }
  const OperatorFigures& operators_in(Phase phase) const { return operators[static_cast<std::size_t>(phase)]; }
};

}  // namespace trainlab
