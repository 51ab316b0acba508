#include "journal/recent_work.h"

namespace trainlab {

std::vector<PieceOfWork> RecentWork::after(double time) const {
  std::vector<PieceOfWork> found;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const PieceOfWork& piece = pieces_[(oldest_ + i) % pieces_.size()];
    if (piece.end > time) found.push_back(piece);
  }
  return found;
}

RecentWork& recent_work() {
  thread_local RecentWork work;
  return work;
}

}  // namespace trainlab
