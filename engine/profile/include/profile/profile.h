// `trainlab profile`: where the time of a stage's training steps goes, measured on the stage itself.
//
// The stage runs as in a run, with validations and checkpoints, in a folder below the folder for temporary files that
// is removed afterwards. It ends when the time of a step is known well enough or the allowed seconds are up; a stage
// that ends before is run again. What its functions change outside of the stage stays changed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/registry.h"
#include "profile/steps.h"
#include "profile/verdict.h"
#include "run/stage.h"

namespace trainlab {

struct ProfileOptions {
  double seconds = 30;      // for the steps, at most
  double precision = 0.02;  // half the interval of a step, relative to its median, that is enough
  std::function<void(const std::string&)> say = {};  // lines that the recipe prints
};

// How often a stage does what comes between steps.
struct Rhythm {
  double seconds = 0;                // of one time
  std::optional<double> every = {};  // steps; unknown where no such time was seen and no rule says it
  double per_step() const { return every && *every > 0 ? seconds / *every : 0; }
};

struct Profile {
  std::string stage, where;  // "member", "digits.lua:14"
  std::string kind;          // "fit" or "task"
  std::int64_t samples = 0;  // of a step; 0: unknown
  StepFigures steps;
  Rhythm validation, checkpoint;
  double call_seconds = 0;      // of an operator without arithmetic
  std::optional<double> flops;  // of forward and backward pass of a step, where the layers say it
  // Seconds of a step in the forward pass, the loss and the backward pass.
  double pass_seconds() const {
    return steps.per_step(Phase::forward) + steps.per_step(Phase::loss) + steps.per_step(Phase::backward);
  }
  // Wall seconds of a step with what comes between steps.
  double wall() const {
    return steps.mean + steps.callbacks + steps.between + validation.per_step() + checkpoint.per_step();
  }
  bool is_synchronous = true;
  double cores = 1;  // that the process may use
};

// Measures a stage of the kind fit or task. Raises the errors of the stage, and Error{interrupted} when the run was
// asked to stop. On the recipe's thread.
Profile profile_stage(const Options& stage, const RunSettings& settings, const ProfileOptions& options);

// The parts of a step, and all that the verdict needs, from the figures. Pure.
Shares shares_of(const Profile& profile);
Measures measures_of(const Profile& profile);

// The verdict, the bar of a step by its parts, and the figures, as text for a terminal.
std::string profile_text(const Profile& profile, const StepVerdict& verdict);
// The same as data: the members that docs/profiling.md lists.
Value profile_value(const Profile& profile, const StepVerdict& verdict);

}  // namespace trainlab
