#include "specs.h"

#include <numeric>

namespace trainlab::test {

Batch all_of(const Part& part, at::ScalarType float_type) {
  std::vector<std::int64_t> samples(static_cast<std::size_t>(part.size()));
  std::iota(samples.begin(), samples.end(), 0);
  return gather(part, samples, float_type);
}

}  // namespace trainlab::test
