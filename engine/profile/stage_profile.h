// Profiles of a fit, of a task, and of a short run. Private to the room.
#pragma once

#include <c10/core/Device.h>

#include <functional>

#include "profile/profile.h"
#include "steps/measure.h"

namespace trainlab {

// StepLimits::wait of a device.
std::function<void()> wait_for(at::Device place);

// The profile of a fit whose steps were measured, without the time of a call.
Profile profile_of_steps(const FitPlan& plan, StepFigures measured);
// The profile of a fit, without the time of a call. The plan is unchanged afterwards.
Profile profile_of_fit(FitPlan& plan, const Measured& how, const StepLimits& limits);
// The profile of a task whose steps were measured, on the device of this name.
Profile profile_of_task_steps(const Options& task, const std::string& device, StepFigures measured);
// The same profile of a task, whose loop has no plan.
Profile profile_of_task(const Measured& how, const StepLimits& limits);

// A short run of a fit, or of a task where `plan` is null, with validations and checkpoints, by as many threads as the
// settings say. Error{run} where it is too short for a timed step.
Profile short_profile(FitPlan* plan, const Measured& how, const StepLimits& limits);

}  // namespace trainlab
