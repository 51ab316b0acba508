// The time that a recipe's stage takes, computed from measured steps, and how much of the stage fits into a budget.
// Pure arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/statistics.h"
#include "core/training_wave.h"
#include "core/value.h"
#include "plan/ends_first.h"
#include "plan/plan.h"

namespace trainlab {

// The cost of a stage together with all of the run that comes before it, at the price of the day `as_of`.
struct PlannedCost {
  double amount = 0;
  std::string currency, as_of;
};

// Facts of a stage, from measured steps of one of its trainings.
struct MeasuredStageFacts {
  std::string stage, kind;  // "search", "sweep"
  MedianInterval step;      // a step without the work between steps, in seconds
  double wall = 0;   // mean seconds of a step with its share of validations, checkpoints and functions of the recipe
  double once = 0;   // seconds of a training outside of its steps: its test and its last checkpoint
  double start = 0;  // seconds before the first step of the stage
  double validation = 0;                   // seconds of a validation; one ends each training
  std::int64_t validate_every = 0;         // steps from one validation to the next; 0: none are made
  std::int64_t steps_per_epoch = 0;        // 0: the training has no epochs
  std::int64_t steps = 0;                  // steps of a training by the recipe; 0: only a time ends it
  bool is_task = false;                    // a loop by hand, which has no steps by the recipe and ends all the same
  std::vector<TrainingWave> waves = {{}};  // of all trials; empty: as many as the stage comes to
  std::int64_t repeats = 1;                // trainings of a trial, all of which one process trains
  std::int64_t at_end = 0;                 // whole trainings that begin when all trials have ended
  bool may_be_fewer = false;               // the stage may end some of its trainings early, or leave some out
  bool may_end_early = false;              // without a number of trainings, the stage may end before its own time
  std::int64_t together = 1;               // trainings that one process may train as a group, in less time than in turn
  std::int64_t workers = 1;                // processes that train side by side
  double at_once = 1;                      // trainings that proceed side by side as fast as the measured one does alone
  double after = 0;                        // seconds after the trainings: the models of an ensemble predict together
  bool is_on_gpu = false;
  double parameters = 0;           // parameters of the model; 0: unknown
  double flops = 0;                // FLOPs of a step, the mean over an epoch; 0: unknown
  double full_step_flops = 0;      // FLOPs of any step of an epoch but the last, which may have fewer samples
  double epoch_flops = 0;          // FLOPs of all steps of an epoch
  double within = 0, reserve = 0;  // the budget of the run in seconds; 0: none
  double share = 1;                // share of the remaining budget for this stage; 1: no stages follow
  double trainings_share = 1;      // share of the stage's time in the budget in which its trainings end
  double training_time = 0;        // the option `time` of a training, in seconds; 0: none
  double stage_time = 0;           // the option `time` of the stage around the trainings, after which no trial begins
  double most_flops = 0;           // the stage's share of the run's budget of FLOPs; 0: none
  // Passes over the training data that a step makes; 0 where the data are new or changed in each pass.
  double step_passes = 0;
  // Bytes of a training that grow with its model: all but batches and what was there before; and the bytes that they
  // may take. 0: unknown.
  double model_memory = 0, room = 0;
  double peak = 0;                       // FLOP/s of the device, measured before or by its name; 0: unknown
  double watts = 0;                      // mean power of the processors while the stage was measured; 0: unknown
  std::optional<PlannedCost> cost = {};  // where the recipe's budget has prices and the stage has a length

  // All trainings of the stage, each segment of a scheduler counted; 0: as many as the stage comes to.
  double trainings() const;
  // Whether trainings are parts of whole ones.
  bool has_segments() const;
  // Whole trainings with as many steps as all trainings of the stage together.
  double whole_trainings() const;
};

// The work that fits into the tightest of the bounds: the budget's time and FLOPs, the stage's own time, in which
// trainings begin, and the own time of a training. Unknown without a bound.
struct WhatFits {
  // The length of a single training that takes all that is there; in epochs where the training has some.
  std::optional<double> epochs, steps;
  std::optional<std::int64_t> trainings;  // whole ones, of seeds or of trials
};

struct RecipePlan {
  MedianInterval step;  // a step with its share of the work between steps, in seconds, about its mean
  std::optional<MedianInterval> epoch, training, whole;  // whole: the stage. Unknown without a length
  bool ends_by_time = false;  // whether the stage's own time is over before all of its trainings have begun
  // Whether `whole`, and with it the energy and the cost, and whether `flops` are the most that the stage can take.
  bool seconds_are_most = false, flops_are_most = false;
  // For the stage, if the power stays; all that the machine does counts. Unknown where several trainings proceed side
  // by side, because the power was measured while one did.
  std::optional<double> joules;
  std::optional<double> flops;      // of the stage
  std::optional<double> rate, mfu;  // FLOP/s of a step with its share, and their share of the peak
  double passes = 0;  // of a training over unchanged data, as far as the budget lets it come; 0: unknown, or changed
  std::optional<double> usable;  // seconds of the budget for the stage
  WhatFits fits;
  // Unknown without a budget, for a task, and where the most that the stage can take does not fit into the budget, and
  // what it will take is not known.
  EndsFirst ends_first = EndsFirst::unknown;
  // The parameters of a model of the same kind whose stage takes all of the usable time, of the FLOPs or of the memory,
  // and which of these ends first: "time", "FLOPs" or "memory". Assumes that the memory, and the time of a step with
  // its FLOPs, are proportional to the parameters. Time and FLOPs do not bound a stage that its own time ends. Unknown
  // where it would follow from the most time or FLOPs that the stage can take.
  std::optional<double> largest_parameters;
  std::string_view largest_by;
  // The plan of one training by a law, as far as the budget lets it come: what its parameters and its tokens reach, and
  // which would be best for its FLOPs. Its tokens are FLOPs / 6 N, as those of the runs behind a law are. Unknown
  // without a law, and where nobody knows the FLOPs or the length of a training.
  std::optional<Plan> by_law;

  bool is_repeated() const { return passes > most_passes; }
};

// The plan of a stage, with the loss by the law, if one is given. The interval of a step is widened to at least ±3 %,
// because the speed of whole runs varies more than blocks of steps show.
RecipePlan plan_of(const MeasuredStageFacts& facts, const std::optional<KnownLaw>& law = {});

// The facts in a value that an engine sends; and the plan as `trainlab plan --json` prints it. Error{run} for a value
// that no engine sends.
MeasuredStageFacts facts_from(const Value& value);
Value to_value(const MeasuredStageFacts& facts, const RecipePlan& plan);

}  // namespace trainlab
