#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"
#include "health/figures.h"

namespace trainlab {

// Facts that the samples of a data set tell, whatever the run does with them.
struct SampleFacts {
  // For each sample that was found more than once in the training part, its places there.
  std::vector<std::vector<std::int64_t>> alike = {};
  double shared = unmeasured, shared_by_test = unmeasured, repeated = unmeasured;  // as in RunFacts
};

// Compares the samples of the parts, byte for byte, by their hashes. Of a part with many samples some are chosen by
// their bytes, so that all copies of a sample are chosen or none: the shares among these need no correction for the
// samples that are left out. Nothing is known of samples that are made only when a batch is gathered, that overlap, or
// of which the training and the validation part together have more than 1 GiB; nor of the test part where the three
// have more.
SampleFacts sample_facts(const DataParts& data);

}  // namespace trainlab
