// Iterators over batches: for batch in data.val:batches { … } do.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>

#include "bindings/lua_error.h"
#include "data/dataset.h"
#include "task/task.h"

struct lua_State;

namespace trainlab {

// From now on the exception ends the function of the task: no pcall of the recipe holds it back.
void doom_task(lua_State* L, const std::exception& exception);

// Does work of a task's loops; `task` is the task or a loop of it.
template <class Task, class Work>
auto task_work(lua_State* L, const Task& task, const Work& work) {
  try {
    const EngineWork engine(L);
    return work();
  } catch (const std::exception& exception) {
    if (task.failed()) doom_task(L, exception);
    throw;
  }
}

// Pushes an iterator over the part's batches, once and in order.
void push_batches(lua_State* L, const Part& part, std::int64_t size, at::ScalarType float_type);

// Pushes the iterator of a task's loop, which gives batches, or step numbers for a loop without batches. Each step has
// its own random numbers.
void push_loop(lua_State* L, const std::shared_ptr<TaskLoop>& loop);

// Inside enter(), once.
void open_loops(lua_State* L);

}  // namespace trainlab
