// Pages of memory that stay with the process when a tensor is freed. Private to the room and its tests.
#pragma once

namespace trainlab {

// From here on, memory that is freed is kept for the next tensors, whatever its size, and comes in pages of 2 MiB if
// the system has them. mimalloc by itself returns blocks of more than 16 MiB to the system when they are freed: to
// take such a block anew in each step, the system fills it with zeros, which takes longer than to compute with it.
//
// At most an eighth of usable_memory() is kept so. Tensors beyond are allocated as mimalloc does by itself: what one
// process keeps, others cannot have, and pages that lie scattered among others do not serve a larger tensor.
//
// Returns whether memory is kept: not where mimalloc is not linked, nor where addresses may not be reserved. Any
// thread, as often as you like.
bool keep_freed_pages();

// Whether a range of addresses costs nothing until it is touched: not where the system counts addresses that are
// reserved as if they were used (`ulimit -v`, `ulimit -d`, vm.overcommit_memory = 2).
bool may_reserve_addresses();

}  // namespace trainlab
