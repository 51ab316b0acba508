#pragma once

#include <cstdint>
#include <vector>

namespace trainlab {

// The divisors of a number of at least 1, the smallest first: the sizes of the batches into which it can be cut.
inline std::vector<std::int64_t> divisors(std::int64_t whole) {
  std::vector<std::int64_t> all;
  for (std::int64_t one = 1; one <= whole; ++one)
    if (whole % one == 0) all.push_back(one);
  return all;
}

}  // namespace trainlab
