// `trainlab profile`: where the time of a stage's training steps goes, measured on the stage itself.
//
// The stage runs as `trainlab run` would run it, with validations and checkpoints, in a temporary folder that is
// removed afterwards. The measurement ends when the time of a step is known well enough or the allowed seconds are up;
// a stage that ends earlier is run again. Changes that the recipe's functions make elsewhere, in files say, remain.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/registry.h"
#include "profile/steps.h"
#include "profile/verdict.h"
#include "run/stage.h"
#include "train/fit_plan.h"

namespace trainlab {

struct ProfileOptions {
  static double now();     // steady_seconds()
  double seconds = 30;     // the longest time for all that is measured
  double began = now();    // when this time began
  double steps_share = 1;  // the part of `seconds` in which steps are timed
  // The part of `seconds` that slow steps may take until as many are timed as a verdict needs.
  double slow_steps_share = 1;
  bool by_length = false;   // less than `seconds` for a stage that is short itself (seconds_for)
  double precision = 0.02;  // the measurement ends when half the interval of a step is this share of its median
  std::function<void(const std::string&)> say = {};  // receives the lines that the stage has to say
  std::function<void()> ran = {};                    // called when the stage has run once, and may run again
  // Frees what the recipe's functions have left behind and Lua has not collected yet, before memory is measured.
  // Returns the bytes that Lua's heap then holds.
  std::function<std::int64_t()> collect = {};
};

// The seconds for the steps of a stage that takes `length` seconds in all: 4 times as long, at least 2 s, and at most
// `most`. What is found of a short stage can save little.
double seconds_for(double length, double most);

// How long validations or checkpoints take, and how often they come between steps.
struct Rhythm {
  // Duration of one validation or checkpoint; unknown where none came while steps were measured.
  std::optional<double> seconds = {};
  std::optional<double> every = {};  // steps from one to the next; unknown where none was seen and no rule says it
  double per_step() const { return every && *every > 0 ? seconds.value_or(0) / *every : 0; }
  // Whether some come, and nobody knows how long one takes.
  bool is_unmeasured() const { return every && !seconds; }
};

struct Profile {
  std::string stage, where;  // "member", "digits.lua:14"
  std::string kind;          // "fit" or "task"
  double samples = 0;        // samples in a step, the mean over an epoch; 0: unknown
  StepFigures steps;
  Rhythm validation, checkpoint;
  double call_seconds = 0;      // time of a call of an operator without arithmetic
  std::optional<double> flops;  // FLOPs of both passes of a step, where the layers state them
  const DataParts* shared_data() const { return data ? &*data : nullptr; }  // null: to be opened
  // Seconds of a step in the forward pass, the loss and the backward pass.
  double pass_seconds() const {
    return steps.per_step(Phase::forward) + steps.per_step(Phase::loss) + steps.per_step(Phase::backward);
  }
  // Wall seconds of a step with its proportion of the validations and checkpoints between steps.
  double wall() const {
    return steps.mean + steps.callbacks + steps.between + validation.per_step() + checkpoint.per_step();
  }
  bool is_synchronous = true;
  std::vector<std::string> no_room = {};  // Measures::no_room
  std::string no_steps = {};              // Measures::no_steps
  double cores = 1;                       // cores that the process may use
  double allowed = 0;                     // seconds that the whole profile may take
  std::optional<DataParts> data = {};     // of a fit: its opened data, which other plans of the fit share
};

// Measures a stage of the kind fit or task. Raises the errors of the stage, and Error{interrupted} when the run was
// asked to stop. To be called on the recipe's thread.
Profile profile_stage(const Options& stage, const RunSettings& settings, const ProfileOptions& options);

// Raises Error{run} where no step was timed.
void check_timed(const Profile& profile);
// The same, and raises the error that has cut the measurement short.
void check_whole(const Profile& profile);

// The profile of a stage that has ended with an error for lack of memory; nullopt for other errors.
std::optional<Profile> profile_without_room(const Options& stage, const Error& error);

// Computes the parts of a step, and the measures that the verdict needs, from the figures. Pure.
Shares shares_of(const Profile& profile);
Measures measures_of(const Profile& profile);

// The verdict on the measures, the bar of a step by its parts, and the figures, as text for a terminal. The measures
// are those of the profile alone, or those of the profile together with its details (profile/details.h).
std::string profile_text(const Profile& profile, const Measures& measures);
// The same as data: the members that docs/profiling.md lists.
Value profile_value(const Profile& profile, const Measures& measures);
// Its member `cores`: who had the cores while steps were timed.
Value cores_value(const Profile& profile, const Measures& measures);

}  // namespace trainlab
