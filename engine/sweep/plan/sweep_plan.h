// SweepPlan: the plan of a lab.sweep. A trial is a point of its space.
#pragma once

#include "plan/study_plan.h"

namespace trainlab {

class SweepPlan final : public StudyPlan {
 public:
  SweepPlan(const Options& stage, const RunSettings& settings, TrialAddition addition = {});

  // The option `confirm`: how many of the best trials are trained again, each on how many fresh seeds.
  struct Confirm {
    std::int64_t top = 0, seeds = 0;
  };
  std::optional<Confirm> confirms() const;
  std::unique_ptr<Pruner> pruner() const override;
  std::int64_t most_failures() const override;
  std::string failure(const Failures& failures) const override;
  std::string text() const override;
  Value description(const Study& study) const override;
  Options build(std::span<const double> point, std::int64_t trial, std::int64_t repeat) const override;

 private:
  std::string first_rung_text() const;
  void check_bounds() const;
  void check_scheduler() const;
  void check_confirm() const;
  void check_example(const FitPlan& fit, const Study& study) const override;
  void check_tasks() const override;
  std::unique_ptr<Sampler> sampler() const override;
  void settle(StudySettings& settings) const override;
};

}  // namespace trainlab
