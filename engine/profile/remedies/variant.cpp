#include "variant.h"

#include "tensor/types.h"

namespace trainlab {

Variant variant_of(const Options& stage, const RunSettings& settings, const DataParts* opened) {
  return {.stage = stage, .settings = settings, .plan = plan_fit(stage, settings, opened)};
}

Profile profile_of_variant(Variant& variant, const StepLimits& limits,
                           const std::function<void(const std::string&)>& say) {
  prepare_arithmetic(variant.settings.threads);
  Profile profile =
      profile_of_fit(variant.plan, {.stage = variant.stage, .settings = variant.settings, .say = say}, limits);
  if (profile.steps.steps == 0) throw run_error("no step could be timed");
  return profile;
}

double samples_per_second(const Profile& profile) { return static_cast<double>(profile.samples) / profile.wall(); }

}  // namespace trainlab
