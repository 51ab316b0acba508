#include "loop_share.h"

#include <algorithm>

namespace trainlab {

LoopShare::LoopShare(long begin, long end, long step, long chunk)
    : begin_(begin),
      step_(step),
      count_(std::max<std::int64_t>((std::int64_t{end} - begin + step - (step > 0 ? 1 : -1)) / step, 0)),
      chunk_(std::max(chunk, 1L)) {}

std::optional<Chunk> LoopShare::next() {
  // Each thread asks only once after the end of the loop, so the count cannot overflow.
  const std::int64_t first = taken_.fetch_add(chunk_, std::memory_order_relaxed);
  if (first >= count_) return std::nullopt;
  const std::int64_t last = std::min(first + chunk_, count_);
  return Chunk{first / chunk_, begin_ + first * step_, begin_ + last * step_};
}

void LoopShare::wait_for_turn(const Chunk& chunk) {
  const auto own = static_cast<std::uint32_t>(chunk.number);
  while (true) {
    const std::uint32_t turn = turn_.value();
    if (turn == own) return;
    turn_.wait_while(turn);
  }
}

void LoopShare::pass(const Chunk& chunk) {
  wait_for_turn(chunk);
  turn_.set(static_cast<std::uint32_t>(chunk.number) + 1);
}

}  // namespace trainlab
