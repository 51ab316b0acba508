#include "segment_search.h"

#include <algorithm>
#include <limits>

namespace trainlab {

namespace {
constexpr double impossible = std::numeric_limits<double>::infinity();
}

SegmentSearch::SegmentSearch(std::vector<ChainCost> stages, std::int64_t output, std::int64_t most, std::int64_t slots,
                             bool nests)
    : stages_(std::move(stages)),
      count_(stages_.size() + 1),
      unit_(std::max<std::int64_t>((most + slots - 1) / slots, 1)),
      slots_(most / unit_),
      nests_(nests),
      wholes_(count_ * count_) {
  stages_.push_back({.input = output});  // the loss is the last stage
  stages_.push_back({});                 // end of the recursion, behind the loss
  for (ChainCost& stage : stages_) {
    for (std::int64_t* bytes : {&stage.input, &stage.kept, &stage.forward_extra, &stage.backward_extra})
      *bytes = slots_of(*bytes);
  }
  sums_.assign(1, 0);
  for (std::size_t i = 0; i < count_; ++i) sums_.push_back(sums_.back() + stages_[i].seconds);
  for (std::size_t k = 0; k < count_; ++k) {
    for (std::size_t i = k + 1; i-- > 0;)
      whole(i, k) = i == k ? keeping(i, k) : std::max(keeping(i, k), stages_[i].kept + whole(i + 1, k));
  }
  costs_.assign((nests_ ? count_ : 1) * count_ * static_cast<std::size_t>(slots_ + 1), impossible);
  if (!nests_) {
    for (std::size_t i = count_; i-- > 0;) fill(i, count_ - 1);
    return;
  }
  for (std::size_t length = 0; length < count_; ++length) {
    for (std::size_t i = 0; i + length < count_; ++i) fill(i, i + length);
  }
}

std::int64_t SegmentSearch::keeping(std::size_t i, std::size_t k) const {
  const ChainCost& stage = stages_[i];
  const std::int64_t output = stages_[i + 1].input;
  if (i == k) return output + stage.kept + std::max(stage.forward_extra, stage.backward_extra);
  return std::max(stages_[k + 1].input + stage.kept + stage.forward_extra, output + stage.kept + stage.backward_extra);
}

std::int64_t SegmentSearch::dropping(std::size_t i, std::size_t k) const {
  std::int64_t most = stages_[i + 1].input + stages_[i].forward_extra;
  for (std::size_t t = i + 1; t < k; ++t)
    most = std::max(most, stages_[t].input + stages_[t + 1].input + stages_[t].forward_extra);
  return stages_[k + 1].input + most;
}

double SegmentSearch::again(std::int64_t m, std::size_t i, std::size_t k) const {
  const double pass = nests_ ? cost(m, i, k) : m < whole(i, k) ? impossible : seconds(i, k + 1);
  return pass - stages_[k].spared;
}

void SegmentSearch::fill(std::size_t i, std::size_t k) {
  const std::int64_t keeps = keeping(i, k), drops = dropping(i, k);
  for (std::int64_t m = 0; m <= slots_; ++m) {
    double least = impossible;
    if (m >= keeps) least = seconds(i, i + 1) + (i == k ? 0 : cost(m - stages_[i].kept, i + 1, k));
    if (i < k && m >= drops) {
      for (std::size_t j = i + 1; j <= k; ++j) {
        if (m < stages_[j].input) continue;
        least = std::min(least, seconds(i, j) + cost(m - stages_[j].input, j, k) + again(m, i, j - 1));
      }
    }
    cost(m, i, k) = least;
  }
}

void SegmentSearch::add_segments(std::int64_t m, std::size_t i, std::size_t k,
                                 std::vector<ChainSegment>& segments) const {
  while (i < k) {
    const double least = cost(m, i, k);
    if (m >= keeping(i, k) && seconds(i, i + 1) + cost(m - stages_[i].kept, i + 1, k) <= least) {
      m -= stages_[i++].kept;
      continue;
    }
    std::size_t j = i + 1;
    while (m < stages_[j].input || seconds(i, j) + cost(m - stages_[j].input, j, k) + again(m, i, j - 1) > least) {
      ++j;
    }
    ChainSegment run{.first = i, .count = j - i};
    if (nests_) add_segments(m, i, j - 1, run.inner);
    segments.push_back(std::move(run));
    m -= stages_[j].input;
    i = j;
  }
}

std::optional<SegmentSearch::Plan> SegmentSearch::plan(std::int64_t bytes) const {
  const std::int64_t m = std::min(bytes / unit_, slots_) - stages_.front().input;
  const std::size_t last = count_ - 1;
  if (m < 0 || cost(m, 0, last) == impossible) return std::nullopt;
  Plan found{.segments = {}, .seconds = cost(m, 0, last) - seconds(0, last)};
  add_segments(m, 0, last, found.segments);
  return found;
}

}  // namespace trainlab
