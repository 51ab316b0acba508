// Memory for tensors that lies against a page which cannot be touched: who reads or writes one element too far is
// ended by a signal, instead of finding whatever lies there.
#pragma once

#include <cstddef>

namespace trainlab::test {

// Replaces LibTorch's allocator for the CPU, for good. More than `limit` bytes at once raise the error that a recipe
// gets at the end of its memory.
void guard_memory(std::size_t limit);

// Where the next blocks have their guarded side.
void guard_ends();
void guard_beginnings();

// Fills the next blocks with this byte before they are handed out. Results that change with the byte were never
// written.
void fill_memory(int byte);

}  // namespace trainlab::test
