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

// Pushes the iterator of a task's loop: it gives batches, or step numbers where there are none. The random numbers of
// each step are its own.
void push_loop(lua_State* L, const std::shared_ptr<TaskLoop>& loop);

// Inside enter(), once.
void open_loops(lua_State* L);

}  // namespace trainlab
