// Recipes run on a thread with a large stack: deep recursion through library functions (gsub whose callback calls
// gsub) then ends in Lua's own "stack overflow" and not in a crash.
#pragma once

#include <functional>

namespace trainlab {

// Runs `body` on a new thread with 256 MiB of stack (address space; memory only as used) and waits for its end.
// Exceptions come through.
void on_large_stack(const std::function<void()>& body);

}  // namespace trainlab
