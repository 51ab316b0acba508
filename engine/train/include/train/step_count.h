// StepCount: how many steps a training has taken, and begun, wherever it was left.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "train/loop_observer.h"

namespace trainlab {

// Stands before an observer that may leave the training.
class StepCount final : public LoopObserver {
 public:
  // `total`: the steps of the whole training; 0: nobody knows.
  explicit StepCount(std::int64_t total) : total_(total) {}
  void started(std::int64_t step, std::size_t) override { done_ = step; }
  void between_steps(bool) override { is_between_ = true; }
  void stepped(std::int64_t step) override {
    done_ = step;
    is_between_ = false;
  }
  std::int64_t done() const { return done_; }
  // The steps of a training that was left before its end. A step within which it was left counts as begun.
  std::int64_t begun() const {
    const std::int64_t steps = done_ + (is_between_ ? 1 : 0);
    return total_ > 0 ? std::min(steps, total_) : steps;
  }

 private:
  std::int64_t total_, done_ = 0;
  bool is_between_ = false;
};

}  // namespace trainlab
