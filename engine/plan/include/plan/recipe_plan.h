// The time that a recipe's stage takes, by steps that were measured, and how much of the stage a budget of time holds.
// Pure arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/value.h"

namespace trainlab {

// A time with its interval, in seconds.
struct Seconds {
  double median = 0, low = 0, high = 0;
  Seconds times(double factor) const { return {median * factor, low * factor, high * factor}; }
};

// A stage of which the steps of one training were measured.
struct MeasuredStageFacts {
  std::string stage, kind;  // "search", "sweep"
  Seconds step;             // a step alone
  double between = 0;       // seconds of a step's share in validations, checkpoints and functions of the recipe
  double once = 0;          // seconds of a training outside of its steps: its last validation, test and checkpoint
  double start = 0;         // seconds before the first step of the run
  std::int64_t steps_per_epoch = 0;  // 0: the training has no epochs
  std::int64_t steps = 0;            // of a training as the recipe has it; 0: its length is a time, or unknown
  std::int64_t trainings = 1;        // of the stage, one after the other; 0: as many as its time allows
  double parameters = 0;             // of the model; 0: unknown
  double flops = 0;                  // of a step; 0: unknown
  double within = 0, reserve = 0;    // the budget of the run in seconds; 0: none
  double share = 1;                  // of what is left of the budget; 1: no stages follow
};

enum class EndsFirst { unknown, length, budget };

struct RecipePlan {
  Seconds step;                                   // with its share in what comes between steps
  std::optional<Seconds> epoch, training, whole;  // whole: the stage. Unknown where the length is
  std::optional<double> usable;                   // seconds of the budget that the stage has
  // Epochs, or steps where there are no epochs, of a single training that takes all of the usable time.
  std::optional<double> epochs, steps;
  std::optional<std::int64_t> trainings;  // whole trainings that fit: seeds, or trials
  EndsFirst ends_first = EndsFirst::unknown;
  // The parameters of a model of the same kind whose stage takes all of the usable time, if a step takes time in
  // proportion to its FLOPs, and these are in proportion to the parameters.
  std::optional<double> largest_parameters;
};

// The interval of a step is at least ±3 %: the speed of whole runs drifts by more than blocks of steps show.
RecipePlan plan_of(const MeasuredStageFacts& facts);

// The facts that an engine sends, and the plan as `trainlab plan --json` prints it. Error{run} for what no engine
// sends.
MeasuredStageFacts facts_from(const Value& value);
Value to_value(const MeasuredStageFacts& facts, const RecipePlan& plan);

}  // namespace trainlab
