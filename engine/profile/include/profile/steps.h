// The figures of measured steps: where the time of a training step goes, from the spans of the loop that trains.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/phase.h"
#include "core/statistics.h"
#include "run/core_use.h"

namespace trainlab {

using PhaseSeconds = std::array<double, phase_count>;

// Operators of LibTorch that the training thread called in a step, by the phase in which it called them.
struct OperatorFigures {
  double calls = 0;    // including calls by other operators
  double seconds = 0;  // time in operators that no other operator called
};

// Figures of the operating system's scheduler for the training thread and the process while steps were timed.
struct ThreadFigures {
  double seconds = 0;                 // wall time
  std::optional<double> waited = {};  // seconds in which the thread could run and had no core; unknown on some systems
  std::int64_t switches = 0;          // involuntary context switches
  double process_cpu = 0;             // seconds of all threads of the process
  std::optional<CoreSeconds> cores = {};  // unknown on some systems
  std::int64_t pieces = 1;                // of time that the figures are of: one between two readings
};

// Validations or checkpoints, which come between steps: their number, and the seconds that each took on average.
struct Occasional {
  std::int64_t count = 0;
  double seconds = 0;
};

struct StepFigures {
  // Seconds of a step without the validations and checkpoints between steps. The median is over blocks of consecutive
  // steps, because a loader hands out batches in chunks.
  MedianInterval step;
  double block = 0;             // the shortest duration of such a block, in seconds; a longer step is a block by itself
  double mean = 0;              // mean seconds of a step
  PhaseSeconds self{};          // the seconds of `mean` by phase, without phases inside the phase; the sum is `mean`
  double callbacks = 0;         // seconds of the recipe's functions between two steps
  double between = 0;           // other seconds between two steps
  std::int64_t steps = 0;       // timed steps
  std::int64_t cold = 0;        // steps at the beginning that were dropped
  double begin_seconds = 0;     // from the beginning of a run to its first step, at most
  double allowed = 0;           // seconds that the timing was allowed to take
  bool has_interval = false;    // if false, there were too few steps, and `step` has the least and the greatest block
  bool is_precise = false;      // the interval is within ± the precision that was asked for
  std::optional<double> drift;  // 0.1: the later half of the steps is slower than the earlier half by a tenth

  std::int64_t runs = 0;  // of the stage, until the steps were timed
  // The error of a further run of the stage, which adds nothing to the figures. Its hint says which run it was.
  std::optional<Error> cut_short = {};
  std::string why_cut_short() const { return cut_short->headline() + "; " + cut_short->hint(); }

  // The function of the recipe that takes most time in the timed steps and between them.
  struct Function {
    std::string path = {};  // "on.step"; empty: no function took any
    double seconds = 0;     // of a step
  };
  Function longest_function = {};

  Occasional validation;
  double validation_metrics = 0;    // seconds that a validation spends on its metrics
  double validation_functions = 0;  // seconds of the recipe's functions from a validation to the next step
  Occasional commit;                // checkpoints
  double commit_functions = 0;      // seconds that a checkpoint spends in the recipe's on.checkpoint
  std::int64_t commits_timed = 0;   // checkpoints between the timed steps

  ThreadFigures thread;
  std::int64_t counted = 0;  // steps whose operators were counted, which are not among the timed ones
  std::array<OperatorFigures, phase_count> operators{};
  PhaseSeconds counted_self{};  // seconds by phase of the counted steps, which counting makes longer

  // Steps in which the thread waited for the device after each phase; none where the device does what it is asked at
  // once. Seconds of such a step by phase: while the host asked the device for the work, and while it then waited.
  std::int64_t awaited = 0;
  PhaseSeconds asking{}, waiting{};

  // False if steps became slower or faster by more than a twentieth: the figures then average different states.
  bool is_steady() const { return !drift || (*drift < 0.05 && *drift > -0.05); }
  double per_step(Phase phase) const { return self[static_cast<std::size_t>(phase)]; }
  const OperatorFigures& operators_in(Phase phase) const { return operators[static_cast<std::size_t>(phase)]; }
};

}  // namespace trainlab
