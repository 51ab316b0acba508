// Iterators over batches: for batch in data.val:batches { … } do.
#pragma once

#include <cstdint>
#include <memory>

#include "data/dataset.h"
#include "task/task.h"

struct lua_State;

namespace trainlab {

// Pushes an iterator over the part's batches, once and in order.
void push_batches(lua_State* L, const Part& part, std::int64_t size);

// Pushes the iterator of a task's loop, which gives batches, or step numbers for a loop without batches. Each step has
// its own random numbers.
void push_loop(lua_State* L, const std::shared_ptr<TaskLoop>& loop);

// Inside enter(), once.
void open_loops(lua_State* L);

}  // namespace trainlab
