// What hears the steps of a task that is measured. Private to the room.
#pragma once

namespace trainlab {

// A task has no spans for its steps, which are the passes through its loops.
class TaskStepListener {
 public:
  virtual ~TaskStepListener() = default;
  virtual void step_began() = 0;
  virtual void step_ended() noexcept = 0;
  virtual bool in_step() const = 0;
  virtual bool is_done() const = 0;  // whether enough steps were heard, so that the task may end
};

}  // namespace trainlab
