#include "variant.h"

namespace trainlab {

Variant variant_of(const Options& stage, const RunSettings& settings, const DataParts* opened) {
  return {.stage = stage, .settings = settings, .plan = plan_fit(stage, settings, opened)};
}

Profile profile_of_variant(Variant& variant, const StepLimits& limits,
                           const std::function<void(const std::string&)>& say) {
  return short_profile(&variant.plan, {.stage = variant.stage, .settings = variant.settings, .say = say}, limits);
}

double samples_per_second(const Profile& profile) { return static_cast<double>(profile.samples) / profile.wall(); }

}  // namespace trainlab
