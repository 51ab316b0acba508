// ConfirmPlan: the plan of the trainings that confirm the best trials of a sweep. A trial is the training of one of
// these on one fresh seed.
#pragma once

#include <vector>

#include "plan/sweep_plan.h"

namespace trainlab {

// A training with the parameters of a trial of the search, on a seed that no trial of the search has.
struct FreshFit {
  std::int64_t trial = 0;  // of the search
  std::int64_t seed = 1;   // which of the fresh seeds, from 1: all trials that are confirmed have the same ones
  std::vector<double> point;
};

class ConfirmPlan final : public StudyPlan {
 public:
  // `longest`: seconds that a training of the search took at most; 0: unknown.
  ConfirmPlan(const SweepPlan& search, std::vector<FreshFit> fits, double longest);

  const std::vector<FreshFit>& fits() const { return fits_; }
  // A seed on which a configuration fails counts against it, and ends nothing.
  std::int64_t most_failures() const override { return StudyTerms::no_limit; }
  std::string failure(const Failures&) const override { return ""; }
  std::string text() const override { return ""; }
  Options build(std::span<const double> point, std::int64_t trial, std::int64_t repeat) const override;

 private:
  std::unique_ptr<Sampler> sampler() const override;

  std::vector<FreshFit> fits_;
  std::int64_t used_seeds_;  // of the search
};

}  // namespace trainlab
