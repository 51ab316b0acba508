#include "plan/ensemble_plan.h"

#include <fmt/format.h>

namespace trainlab {

namespace {

// The space of an ensemble has one point.
class OnePoint final : public Sampler {
 public:
  bool sample(std::int64_t, std::int64_t, std::span<const std::span<const double>>, std::span<double>) override {
    return true;
  }
};

// Members that a sweep has trained keep the seeds that they were trained with.
std::int64_t seed_of_members(const Options& stage, const RunSettings& settings) {
  if (stage.given("seed")) return stage.integer("seed");
  if (!stage.given("from")) return settings.seed;
  const Value& swept = stage.get("from")["seed"];
  return swept.is_integer() ? swept.integer() : settings.seed;
}

// The stage, if its options fit each other. Error{recipe} otherwise.
const Options& checked(const Options& stage) {
  if (stage.given("params") && !stage.get("params").is_map() &&
      !(stage.get("params").is_list() && stage.get("params").list().empty()))
    throw stage.error("params", "expected parameters by name, found " + stage.get("params").brief());
  if (stage.given("from")) {
    const Value& from = stage.get("from");
    if (!from.is_map() || from["kind"] != Value("sweep") || !from["out"].is_string())
      throw stage.error("from", "expected the result of a sweep, found " + from.brief())
          .hint("from = lab.run(lab.sweep { … })");
    if (!from["best"].is_map())
      throw stage.error(
          "from",
          "expected the result of a sweep with one metric and a complete trial, found one without a best trial");
    if (!stage.given("keep")) throw stage.error("keep", "missing; expected the number of members to choose");
  }
  return stage;
}

StudyTerms terms_of_ensemble(const Options& ensemble, const RunSettings& settings) {
  // At the end the members predict together: a pass over the validation and test parts for each, of which the training
  // of a member has at least one, beside its steps.
  constexpr double share_of_predictions = 0.05;
  return {.space = Space({}),
          .seed = seed_of_members(ensemble, settings),
          .trials_name = "members",
          .trials = ensemble.integer("seeds"),
          .share_at_end = share_of_predictions,
          .predictions_at_end = ensemble.given("keep") ? ensemble.integer("keep") : ensemble.integer("seeds")};
}

}  // namespace

EnsemblePlan::EnsemblePlan(const Options& stage, const RunSettings& settings, TrialAddition addition)
    : StudyPlan(checked(stage), settings, terms_of_ensemble(stage, settings), std::move(addition)) {
  find_directions();
  if (objectives().size() > 1) throw stage.error("metric", "expected one metric, found several");
  if (!stage.given("from") && stage.given("keep") && stage.integer("keep") > stage.integer("seeds")) {
    throw stage.error("keep", "expected at most the " + std::to_string(stage.integer("seeds")) + " members, found " +
                                  std::to_string(stage.integer("keep")));
  }
}

void EnsemblePlan::check_tasks() const {
  StudyPlan::check_tasks();
  if (!options().given("from")) return;
  throw options().error("from", "members are chosen by their predictions together, and tasks keep no models");
}

std::unique_ptr<Sampler> EnsemblePlan::sampler() const { return std::make_unique<OnePoint>(); }

void EnsemblePlan::check_example(const FitPlan& fit, const Study&) const {
  if (!options().given("from")) check_stack(fit);
}

// Members that have failed are left out as long as enough others may be kept.
std::int64_t EnsemblePlan::most_failures() const {
  const bool may_fail = options().given("keep") && !options().given("from");
  return may_fail ? terms().trials - options().integer("keep") : 0;
}

std::string EnsemblePlan::failure(const Failures& failures) const {
  const std::string one = fmt::format("the member of trial {} failed: {}", failures.alike.front(), failures.reason);
  if (failures.count == 1) return one;
  return fmt::format("{} of {} members failed, so that keep = {} cannot be met; {}", failures.count, terms().trials,
                     options().integer("keep"), one);
}

std::string EnsemblePlan::text() const { return fmt::format("{} members\n", terms().trials); }

Options EnsemblePlan::build(std::span<const double>, std::int64_t trial, std::int64_t) const {
  Value::Map params;
  if (options().given("from")) {
    params = options().get("from")["best"]["params"].map();
  } else if (options().given("params") && options().get("params").is_map()) {
    params = options().get("params").map();
  }
  return build_with(std::move(params), trial, trial + 1);
}

}  // namespace trainlab
