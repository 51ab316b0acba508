#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/loader.h"

namespace trainlab {

// The batches divided into parts of at most `most` samples, in their order. The list is empty where no batch is larger,
// and for most = 0. `axis`: whether the batches have a member axis before the samples.
std::vector<Batch> micro_batches(std::span<const Batch> batches, std::int64_t most, bool axis);

}  // namespace trainlab
