#include "profile/profile.h"

#include <algorithm>
#include <cmath>

#include "core/clock.h"
#include "run/run.h"
#include "run/scratch_folder.h"
#include "stage_profile.h"
#include "tensor/device.h"
#include "tensor/types.h"
#include "train/fit.h"

namespace trainlab {

double ProfileOptions::now() { return steady_seconds(); }

namespace {

void set_names(Profile& profile, const Options& stage) {
  profile.stage = stage.string("name");
  profile.where = stage.where();
  profile.kind = stage.entry().name;
  profile.cores = usable_cores();
}

std::optional<double> seconds_of_one(const Occasional& work) {
  return work.count > 0 ? std::optional(work.seconds) : std::nullopt;
}

// The profile of a stage that was measured from its beginning, with the reason where there was no step.
Profile with_reason_of_no_steps(Profile profile) {
  if (profile.steps.steps > 0) return profile;
  if (profile.steps.cold > 0) {
    profile.no_steps = "it ends after its first step, which no run is judged by; two steps are enough";
  } else {
    profile.no_steps = profile.kind == "fit" ? "it ends before its first step"
                                             : "it has no pass through a loop of ctx:batches or ctx:steps";
  }
  return profile;
}

}  // namespace

std::function<void()> wait_for(at::Device place) {
  const Device& device = device_at(place);
  if (device.is_synchronous()) return {};
  return [&device] { device.wait(); };
}

Profile profile_of_steps(const FitPlan& plan, StepFigures measured) {
  Profile profile;
  set_names(profile, plan.options);
  profile.samples = plan.step_samples();
  profile.is_synchronous = device_at(plan.device).is_synchronous();
  const double flops = plan.sample_flops() * profile.samples;
  if (std::isfinite(flops) && flops > 0) profile.flops = flops;
  profile.steps = std::move(measured);
  const StepFigures& steps = profile.steps;
  profile.allowed = steps.allowed;
  const auto validate_every = static_cast<double>(plan.validate_every);
  if (plan.data.val && plan.measures())
    profile.validation = {.seconds = seconds_of_one(steps.validation), .every = validate_every};
  profile.checkpoint = {.seconds = seconds_of_one(steps.commit),
                        .every = plan.checkpoint.interval(profile.wall(), validate_every)};
  return profile;
}

Profile profile_of_fit(FitPlan& plan, const Measured& how, const StepLimits& limits) {
  return with_reason_of_no_steps(profile_of_steps(plan, measure_fit(plan, how, limits)));
}

// A task decides in its own loops when to write checkpoints, so how often they come is counted while steps are timed.
Profile profile_of_task_steps(const Options& task, const std::string& device, StepFigures measured) {
  Profile profile;
  set_names(profile, task);
  profile.is_synchronous = device_at(parse_device(device)).is_synchronous();
  profile.steps = std::move(measured);
  const StepFigures& steps = profile.steps;
  profile.allowed = steps.allowed;
  profile.checkpoint.seconds = seconds_of_one(steps.commit);
  if (steps.commits_timed > 0) {
    profile.checkpoint.every = static_cast<double>(steps.steps) / static_cast<double>(steps.commits_timed);
  }
  return profile;
}

Profile profile_of_task(const Measured& how, const StepLimits& limits) {
  return with_reason_of_no_steps(profile_of_task_steps(how.stage, how.settings.device, measure_task(how, limits)));
}

Profile short_profile(FitPlan* plan, const Measured& how, const StepLimits& limits) {
  prepare_arithmetic(how.settings.threads);
  Profile profile = plan ? profile_of_fit(*plan, how, limits) : profile_of_task(how, limits);
  check_whole(profile);
  return profile;
}

double seconds_for(double length, double most) { return std::min(most, std::max(2.0, 4 * length)); }

void check_timed(const Profile& profile) {
  if (profile.no_steps.empty()) return;
  throw run_error("no step of stage " + profile.stage + " could be timed: " + profile.no_steps);
}

void check_whole(const Profile& profile) {
  check_timed(profile);
  if (profile.steps.cut_short) throw *profile.steps.cut_short;
}

std::optional<Profile> profile_without_room(const Options& stage, const Error& error) {
  if (!error.lacks_memory()) return std::nullopt;
  Profile profile;
  set_names(profile, stage);
  profile.no_room = {error.headline()};
  if (!error.hint().empty()) profile.no_room.push_back(error.hint());
  return profile;
}

Profile profile_stage(const Options& stage, const RunSettings& settings, const ProfileOptions& options) {
  ScratchFolder::remove_abandoned();
  return with_torch_errors([&] {
    const double call_seconds = seconds_of_a_call();
    const Measured how{.stage = stage,
                       .settings = settings,
                       .say = options.say ? options.say : [](const std::string&) {},
                       .ran = options.ran,
                       .by_length = options.by_length};
    StepLimits limits{.seconds = options.seconds * options.steps_share,
                      .slow_seconds = options.seconds * options.slow_steps_share,
                      .precision = options.precision};
    Profile profile;
    if (stage.entry().name == "fit") {
      FitPlan plan = plan_with_additions(stage, settings);
      limits.wait = wait_for(plan.device);
      profile = profile_of_fit(plan, how, limits);
      profile.data = std::move(plan.data);
    } else {
      limits.wait = wait_for(parse_device(settings.device));
      profile = profile_of_task(how, limits);
    }
    profile.call_seconds = call_seconds;
    profile.allowed = profile.steps.allowed / options.steps_share;
    return profile;
  });
}

}  // namespace trainlab
