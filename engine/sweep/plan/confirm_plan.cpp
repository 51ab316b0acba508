#include "plan/confirm_plan.h"

#include <algorithm>
#include <utility>

namespace trainlab {

namespace {

// The points of the fits, one for each trial.
class PointsOfFits final : public Sampler {
 public:
  explicit PointsOfFits(const std::vector<FreshFit>& fits) : fits_(fits) {}

  std::optional<std::int64_t> size() const override { return std::ssize(fits_); }
  bool sample(std::int64_t trial, std::int64_t, std::span<const std::span<const double>>,
              std::span<double> point) override {
    if (trial >= std::ssize(fits_)) return false;
    std::ranges::copy(fits_[static_cast<std::size_t>(trial)].point, point.begin());
    return true;
  }

 private:
  const std::vector<FreshFit>& fits_;
};

StudyTerms terms_of(const SweepPlan& search, const std::vector<FreshFit>& fits, double longest) {
  return {.space = search.terms().space,
          .seed = search.terms().seed,
          .trials_name = "trainings on fresh seeds",
          .trials = std::ssize(fits),
          .is_confirmation = true,
          .longest = longest,
          .aggregate = search.terms().aggregate};
}

}  // namespace

ConfirmPlan::ConfirmPlan(const SweepPlan& search, std::vector<FreshFit> fits, double longest)
    : StudyPlan(search, terms_of(search, fits, longest)), fits_(std::move(fits)), used_seeds_(search.terms().repeats) {}

Options ConfirmPlan::build(std::span<const double> point, std::int64_t trial, std::int64_t) const {
  const FreshFit& fit = fits_.at(static_cast<std::size_t>(trial));
  return build_with(terms().space.params(point), fit.trial, used_seeds_ + fit.seed);
}

std::unique_ptr<Sampler> ConfirmPlan::sampler() const { return std::make_unique<PointsOfFits>(fits_); }

}  // namespace trainlab
