// LoopShare: the iterations of a loop that the threads of a team divide among themselves while they run.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "awaited_number.h"

namespace trainlab {

// Chunk: iterations that one thread takes, as the values of the loop's variable from `begin` up to `end`.
struct Chunk {
  std::int64_t number = 0;  // chunks of a loop count from 0
  long begin = 0, end = 0;
};

// Any thread of the team may call any function.
class LoopShare {
 public:
  // The loop `for (i = begin; step > 0 ? i < end : i > end; i += step)`, given out `chunk` iterations at a time.
  LoopShare(long begin, long end, long step, long chunk);

  // Takes the next chunk; nullopt when the loop has no iteration left.
  std::optional<Chunk> next();

  // For parts of a loop's body that must run in the order of the iterations (OpenMP's `ordered`): returns when all
  // chunks before this chunk have passed.
  void wait_for_turn(const Chunk& chunk);
  // To be called when the chunk's iterations are done. Waits for the chunk's turn if it has not come yet.
  void pass(const Chunk& chunk);

 private:
  std::int64_t begin_, step_, count_, chunk_;
  std::atomic<std::int64_t> taken_{0};  // iterations that were given out
  AwaitedNumber turn_;                  // the number of chunks that have passed
};

}  // namespace trainlab
