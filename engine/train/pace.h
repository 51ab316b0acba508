// How fast a fit's steps, validations and checkpoints are, for budgets of time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "train/fit_plan.h"

namespace trainlab {

// Reads the steady clock. Not thread-safe.
class Pace {
 public:
  // `at_end`: parts that are evaluated once more when all else is done.
  Pace(const FitPlan& plan, std::vector<const Part*> at_end) : plan_(plan), at_end_(std::move(at_end)) {}
  // The steps of this process begin now, after `step` steps of earlier processes.
  void begin(std::int64_t step);
  // `step` steps of the fit are done.
  void stepped(std::int64_t step);
  void validated(double seconds);
  void committed(double seconds);

  // Steps of this process whose time says how fast the next will be: all but the first ones.
  std::int64_t warm_steps() const;
  // Mean seconds of a step, validations included; 0 while it is not known.
  double step_seconds() const;
  // Seconds that the last validation, the test part, the parts at the end, the last checkpoint and one more step will
  // probably need. `samples`: of a step.
  double needed(std::int64_t samples) const;
  // The seconds that are kept for them.
  double reserve(std::int64_t samples) const;

 private:
  const FitPlan& plan_;
  std::vector<const Part*> at_end_;
  std::int64_t first_step_ = 0, step_ = 0;
  double begun_ = 0, warm_since_ = 0;
  double validation_seconds_ = 0, commit_seconds_ = 0.05;
};

}  // namespace trainlab
