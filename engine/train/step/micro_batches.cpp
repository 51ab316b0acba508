#include "micro_batches.h"

#include <algorithm>

namespace trainlab {

std::vector<Batch> micro_batches(std::span<const Batch> batches, std::int64_t most, bool axis) {
  std::vector<Batch> parts;
  if (most == 0 || std::ranges::all_of(batches, [&](const Batch& batch) { return batch.size <= most; })) return parts;
  const std::int64_t samples = axis ? 1 : 0;
  for (const Batch& batch : batches) {
    for (std::int64_t first = 0; first < batch.size; first += most) {
      const std::int64_t count = std::min(most, batch.size - first);
      Batch part{.columns = {},
                 .index = batch.index.narrow(samples, first, count),
                 .size = count,
                 .epoch = batch.epoch,
                 .position = batch.position + first};
      for (const at::Tensor& column : batch.columns) part.columns.push_back(column.narrow(samples, first, count));
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

}  // namespace trainlab
