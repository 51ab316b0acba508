#include "micro_batches.h"

#include <algorithm>

namespace trainlab {

Batch part_of(const Batch& batch, std::int64_t first, std::int64_t count, bool axis) {
  const std::int64_t samples = axis ? 1 : 0;
  Batch part{.columns = {},
             .index = batch.index.narrow(samples, first, count),
             .size = count,
             .epoch = batch.epoch,
             .position = batch.position + first};
  for (const at::Tensor& column : batch.columns) part.columns.push_back(column.narrow(samples, first, count));
  return part;
}

std::vector<Batch> micro_batches(std::span<const Batch> batches, std::int64_t most, bool axis) {
  std::vector<Batch> parts;
  if (most == 0 || std::ranges::all_of(batches, [&](const Batch& batch) { return batch.size <= most; })) return parts;
  for (const Batch& batch : batches) {
    for (std::int64_t first = 0; first < batch.size; first += most)
      parts.push_back(part_of(batch, first, std::min(most, batch.size - first), axis));
  }
  return parts;
}

}  // namespace trainlab
