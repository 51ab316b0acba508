// RecentWork: the latest steps, validations and checkpoints of a thread that trains, with their times, so that
// `trainlab profile --attach` can tell what happened before it asked. Every run keeps them, in bounded memory: the
// times are those that the SpeedMeter is told in any case, and a piece of work costs a few stores.
#pragma once

#include <cstdint>
#include <vector>

#include "core/phase.h"

namespace trainlab {

// Times are readings of steady_seconds().
struct PieceOfWork {
  Phase phase = Phase::step;  // step, validate or commit
  double begin = 0;
  double fetched = 0;  // when a step had its batches; of other work, its begin
  double end = 0;
  std::int64_t samples = 0;  // of a step; 0: it has none
};

// Not thread-safe: of one thread.
class RecentWork {
 public:
  static constexpr std::size_t most = 16'384;  // pieces, 640 KiB

  void add(const PieceOfWork& piece) {
    if (pieces_.size() < most) {
      pieces_.push_back(piece);
    } else {
      pieces_[oldest_] = piece;
      oldest_ = (oldest_ + 1) % most;
    }
  }
  // The pieces that ended later than `time`, in the order of their ends.
  std::vector<PieceOfWork> after(double time) const;

 private:
  std::vector<PieceOfWork> pieces_;
  std::size_t oldest_ = 0;
};

// That of the calling thread, whatever it trains: the trials of a sweep come one after the other.
RecentWork& recent_work();

}  // namespace trainlab
