// How long a training takes, told by its first steps.
#pragma once

#include <cstdint>
#include <functional>

#include "run/stage.h"
#include "train/fit.h"

namespace trainlab {

// TrainingPace: times the steps and the validations of a training, which begins when the object is made, and leaves it
// after the first step of which `is_enough` says so (SeenEnough).
class TrainingPace final : public LoopObserver {
 public:
  // `plan`: that of the training; it outlives the object.
  TrainingPace(const FitPlan& plan, std::function<bool(const TrainingPace&)> is_enough);
  void stepped(std::int64_t step) override;
  void validated(std::int64_t step) override;

  // Whether enough was timed to tell how long the training takes.
  bool is_known() const;
  // The seconds since the object was made.
  double elapsed() const;
  // The seconds of the whole training, if nothing ends it before its length: an estimate, which lacks validations as
  // long as there was none. 0 before the first step. A training whose length is a time takes this time.
  double seconds() const;

 private:
  const FitPlan& plan_;
  std::function<bool(const TrainingPace&)> is_enough_;
  double begun_, since_;  // by steady_seconds(): the beginning, and the last step or validation
  std::int64_t steps_ = 0, validations_ = 0;
  double first_ = 0;       // seconds until the end of the first step, which fills buffers
  double stepping_ = 0;    // seconds of the steps after the first
  double validating_ = 0;  // seconds of the validations
};

// The seconds that a training with this plan takes, as TrainingPace::seconds() tells them after about a second of
// steps, or when no time is left; unless the length is a time, the engine trains so long. 0 where nobody knows, because
// no time was left before the first step. Nothing is written, and of the functions in `on` only `start` is called.
// Raises the errors of the training, and Error{interrupted} when the run was asked to stop. The thread of the recipe.
double expected_seconds(const FitPlan& plan, const RunSettings& settings, const std::function<double()>& seconds_left);

}  // namespace trainlab
