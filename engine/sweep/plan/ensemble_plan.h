// EnsemblePlan: the plan of a lab.ensemble. A trial is a member: the same fit with a seed of its own.
#pragma once

#include "plan/study_plan.h"

namespace trainlab {

class EnsemblePlan final : public StudyPlan {
 public:
  EnsemblePlan(const Options& stage, const RunSettings& settings, TrialAddition addition = {});

  std::int64_t most_failures() const override;
  std::string failure(const Failures& failures) const override;
  std::string text() const override;
  Options build(std::span<const double> point, std::int64_t trial, std::int64_t repeat) const override;

 private:
  void check_tasks() const override;
  std::unique_ptr<Sampler> sampler() const override;
  void check_example(const FitPlan& fit, const Study& study) const override;
};

}  // namespace trainlab
