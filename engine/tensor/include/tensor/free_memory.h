// The memory that is free for tensors on the CPU, asked before much is taken: a machine whose memory has run out swaps
// or kills, and neither says why.
#pragma once

#include <cstdint>
#include <string>

namespace trainlab {

// "3.6 TiB", "21.9 GiB", "0.5 MiB".
std::string memory_text(double bytes);
std::string memory_text(std::int64_t bytes);
// The least amount that can be written so and is not less than `bytes`.
std::string memory_text_up(double bytes);
// With three digits and the unit in which the number is from 1 to 1024: "4.53 KiB".
std::string bytes_text(double bytes);

// Bytes that new tensors may take at this moment, with what the allocator keeps of freed ones. What it keeps may lie in
// pieces that are too small for one large tensor.
std::int64_t free_tensor_memory();

// From this size on memory is compared with what is free. To fill so much takes a thousand times as long as to ask.
constexpr std::int64_t large_memory = std::int64_t{256} << 20;

// Called before about `bytes` of memory are taken, by one tensor or by many: raises Error{run} where less is free. The
// message says `asked`: "3.6 TiB for one tensor". Large allocations ask by themselves.
void check_free_memory(double bytes, const std::string& asked);

}  // namespace trainlab
