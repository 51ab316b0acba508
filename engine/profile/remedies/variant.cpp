#include "variant.h"

#include "tensor/free_memory.h"

namespace trainlab {

namespace {

void check_memory(const FitPlan& plan) {
  const double needed = estimate_memory(plan).total();
  if (needed <= 0.8 * static_cast<double>(free_tensor_memory()) || needed <= static_cast<double>(large_memory)) return;
  throw run_error("it needs about " + memory_text(needed) + " of memory");
}

}  // namespace

std::optional<int> threads_of(const Remedy& remedy) {
  if (!remedy.set.starts_with(threads_flag)) return std::nullopt;
  return std::stoi(remedy.set.substr(threads_flag.size()));
}

Variant variant_of(const Options& stage, const RunSettings& settings, const DataParts* opened) {
  return {.stage = stage, .settings = settings, .plan = plan_fit(stage, settings, opened)};
}

Variant with_remedy(const Remedy& remedy, const Variant& base, const WithSet& with_set, std::vector<std::string> more) {
  RunSettings settings = base.settings;
  if (const std::optional<int> threads = threads_of(remedy)) {
    settings.threads = *threads;
  } else if (!remedy.set.empty()) {
    more.push_back(remedy.set);
  }
  Variant variant = variant_of(more.empty() ? base.stage : with_set(more), settings, &base.plan.data);
  if (!remedy.set.empty()) check_memory(variant.plan);
  return variant;
}

Profile profile_of_variant(Variant& variant, const StepLimits& limits,
                           const std::function<void(const std::string&)>& say) {
  return short_profile(&variant.plan, {.stage = variant.stage, .settings = variant.settings, .say = say}, limits);
}

double samples_per_second(const Profile& profile) { return static_cast<double>(profile.samples) / profile.wall(); }

}  // namespace trainlab
