// SweepPlan: the plan of a lab.sweep. A trial is a point of its space.
#pragma once

#include "study_plan.h"

namespace trainlab {

class SweepPlan final : public StudyPlan {
 public:
  SweepPlan(const Options& stage, const RunSettings& settings);

  std::string_view trials_name() const override { return "trials"; }
  std::int64_t trials() const override;
  std::int64_t repeats() const override { return options().integer("seeds"); }
  bool deterministic() const override { return options().boolean("deterministic"); }
  bool reuses_duplicates() const override { return options().string("duplicates") == "reuse"; }
  bool ends_without_improvement() const override;
  std::unique_ptr<Pruner> pruner() const override;
  std::vector<std::vector<double>> enqueued() const override;
  double aggregate(const std::vector<double>& values) const override;
  std::optional<std::string> failure(std::int64_t failed, std::int64_t last, const std::string& reason) const override;
  std::string text() const override;
  Value description(const Study& study) const override;
  Options build(std::span<const double> point, std::int64_t trial, std::int64_t repeat) const override;

 private:
  void check_bounds() const;
  void check_extension(const NewTotal& wanted) const;
  void check_scheduler() const;
  void check_example(const FitPlan& fit, const Study& study) const override;
  void check_tasks() const override;
  std::unique_ptr<Sampler> sampler() const override;
  void settle(StudySettings& settings) const override;

  std::optional<std::int64_t> extended_trials_;  // the total that `trainlab extend` gave
};

}  // namespace trainlab
