// Pages of memory that stay with the process when a tensor is freed. Private to the room.
#pragma once

namespace trainlab {

// From here on, memory that is freed is kept for the next tensors, whatever its size, and comes in pages of 2 MiB if
// the system has them. mimalloc by itself returns blocks of more than 16 MiB to the system when they are freed: to
// take such a block anew in each step, the system fills it with zeros, which takes longer than to compute with it.
// Nothing is kept where mimalloc is not linked, where the process may not reserve more address space than the memory
// that it uses, and beyond usable_memory() bytes. Any thread, as often as you like.
void keep_freed_pages();

}  // namespace trainlab
