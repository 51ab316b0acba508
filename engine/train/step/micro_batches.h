#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/loader.h"

namespace trainlab {

// `count` samples of the batch from `first` on. `axis`: whether the batch has a member axis before the samples.
Batch part_of(const Batch& batch, std::int64_t first, std::int64_t count, bool axis);

// The batches divided into parts of at most `most` samples, in their order. The list is empty where no batch is larger,
// and for most = 0.
std::vector<Batch> micro_batches(std::span<const Batch> batches, std::int64_t most, bool axis);

}  // namespace trainlab
