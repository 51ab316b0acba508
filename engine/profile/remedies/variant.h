// Variant: a fit with certain options, measured in turns with the same fit with other options. Private to the room.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "profile/remedies.h"
#include "stage_profile.h"

namespace trainlab {

struct Variant {
  Options stage;
  RunSettings settings;
  FitPlan plan;
  std::vector<Options> beside = {};        // fits with other seeds that train in one group with the fit
  std::int64_t live_before = 0, live = 0;  // bytes of tensors before the plan was made, and with its own

  std::int64_t fits() const { return 1 + std::ssize(beside); }
};

// `opened`: the opened data of another variant of the fit, which this variant then uses too; or null.
Variant variant_of(const Options& stage, const RunSettings& settings, const DataParts* opened);

// The base with changes, each as in Remedy::set. Raises Error{run} where they need more memory than the base, and more
// than there is.
Variant with_changes(const std::vector<std::string>& changes, const Variant& base, const WithSet& with_set);

// The base with the images of its data decoded into a packed file, which is made.
Variant with_packed_images(const Variant& base, const std::filesystem::path& file);

// The base with `count` fits in all that train in one group, each with a seed of its own.
Variant in_group(const Variant& base, std::int64_t count);

// While this guard exists, the variant's memory.budget has room for the tensors that a profile holds beside the
// variant's own: a training by itself would not hold them.
class OwnBudget {
 public:
  explicit OwnBudget(Variant& variant);
  ~OwnBudget();
  OwnBudget(const OwnBudget&) = delete;

 private:
  std::int64_t& budget_;
  const std::int64_t own_;
};

// A short run of the variant. `known`: see Measured.
Profile profile_of_variant(Variant& variant, const StepLimits& limits,
                           const std::function<void(const std::string&)>& say, const StepFigures* known = nullptr);

// Samples a second of all fits of a variant, when the time of validations and checkpoints counts too.
double samples_per_second(const Variant& variant, const Profile& profile);

}  // namespace trainlab
