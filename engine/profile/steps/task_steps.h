// Listens to the steps of a task that is measured. Private to the room.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "core/trace.h"

namespace trainlab {

// A task has no spans for its steps, which are the passes through its loops.
class TaskStepListener {
 public:
  virtual ~TaskStepListener() = default;
  virtual void step_began() = 0;
  virtual void step_ended() noexcept = 0;
  virtual bool is_done() const = 0;  // whether enough steps were heard, so that the task may end
};

// Tells a listener of spans of these steps, as if they had spans.
class TaskStepSpans final : public TaskStepListener {
 public:
  // `is_enough` is asked before each step, with the number of steps so far.
  TaskStepSpans(TraceListener& listener, std::function<bool(std::int64_t steps)> is_enough)
      : listener_(listener), is_enough_(std::move(is_enough)) {}

  void step_began() override { listener_.began(Phase::step, {}); }
  void step_ended() noexcept override {
    listener_.ended(Phase::step, {});
    ++steps_;
  }
  bool is_done() const override { return is_enough_(steps_); }

 private:
  TraceListener& listener_;
  const std::function<bool(std::int64_t steps)> is_enough_;
  std::int64_t steps_ = 0;
};

}  // namespace trainlab
