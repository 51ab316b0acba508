// LoopObserver: watches the loop of a fit as a whole, once for all members that train together. Events of a single
// member go to the Observer of that member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace trainlab {

// Raised by a hook, a gradient pass or a listener to spans that has seen enough: leaves the loop at once, without the
// evaluations that end a fit, and is caught by whoever has started the fit.
struct SeenEnough {};

// Called on the thread that trains; `step` counts the steps done. An error that a hook raises ends the fit, and the
// checkpoints stay as they are.
class LoopObserver {
 public:
  virtual ~LoopObserver() = default;
  virtual void started(std::int64_t step, std::size_t members) { (void)step, (void)members; }
  // Before each step, and at the end of the training. Where `may_go_back`, the hook may raise FixWanted (train/fix.h):
  // in a fit that trains alone, as long as more is left of its budgets than was used, unless it has come to its end by
  // anything but a failure.
  virtual void between_steps(bool may_go_back) { (void)may_go_back; }
  virtual void stepped(std::int64_t step) { (void)step; }
  virtual void validated(std::int64_t step) { (void)step; }
  // Checkpoints were written: of all members, or of members that leave a group because they have ended, which may be
  // told twice at one step. Never told in a fit that writes none.
  virtual void committed(std::int64_t step) { (void)step; }
  // The members have ended, or were interrupted.
  virtual void finished(std::int64_t step) { (void)step; }
};

// Leaves the fit at the end of a step, within the span of that step: of step `steps`, or where `is_enough` is given, of
// the first step from this one on at which `is_enough` says so.
class EndsAfter final : public LoopObserver {
 public:
  explicit EndsAfter(std::int64_t steps, std::function<bool()> is_enough = {})
      : steps_(steps), is_enough_(std::move(is_enough)) {}
  void stepped(std::int64_t step) override {
    if (step >= steps_ && (!is_enough_ || is_enough_())) throw SeenEnough();
  }

 private:
  std::int64_t steps_;
  std::function<bool()> is_enough_;
};

}  // namespace trainlab
