// Variant: a fit with certain options, measured in turns with the same fit with other options. Private to the room.
#pragma once

#include <optional>
#include <string_view>

#include "profile/remedies.h"
#include "stage_profile.h"

namespace trainlab {

// What a remedy has in `set` that is no option of the stage, but another number of threads.
constexpr std::string_view threads_flag = "--threads ";
// That number; nullopt where the remedy is an option.
std::optional<int> threads_of(const Remedy& remedy);

struct Variant {
  Options stage;
  RunSettings settings;
  FitPlan plan;
};

// `opened`: the opened data of another variant of the fit, which this variant then uses too; or null.
Variant variant_of(const Options& stage, const RunSettings& settings, const DataParts* opened);

// The base with a remedy, or without one where the remedy has no option, and with `more` texts of --set. Raises
// Error{run} for a remedy that needs more memory than there is.
Variant with_remedy(const Remedy& remedy, const Variant& base, const WithSet& with_set,
                    std::vector<std::string> more = {});

// A short run of the variant.
Profile profile_of_variant(Variant& variant, const StepLimits& limits,
                           const std::function<void(const std::string&)>& say);

// Samples a second, when the time of validations and checkpoints counts too.
double samples_per_second(const Profile& profile);

}  // namespace trainlab
