// A fit in one of the forms that are measured beside each other. Private to the room.
#pragma once

#include "stage_profile.h"

namespace trainlab {

struct Variant {
  Options stage;
  RunSettings settings;
  FitPlan plan;
};

// `opened`: the data of another variant of the fit, which is then not opened again; or null.
Variant variant_of(const Options& stage, const RunSettings& settings, const DataParts* opened);

// A short run of the variant.
Profile profile_of_variant(Variant& variant, const StepLimits& limits,
                           const std::function<void(const std::string&)>& say);

// Samples a second, with validations and checkpoints.
double samples_per_second(const Profile& profile);

}  // namespace trainlab
