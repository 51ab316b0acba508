// The count of FLOPs of Hoffmann et al. 2022, table A4.
#include "plan/transformer.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace trainlab::transformer_test {

TEST_CASE("the ratios of FLOPs to 6 N D are those of table A4") {
  struct Row {
    double parameters, layers, width, ffw, heads, ratio;
  };
  constexpr Row rows[] = {{73e6, 10, 640, 2560, 10, 1.03},   {305e6, 20, 1024, 4096, 16, 1.10},
                          {552e6, 24, 1280, 5120, 10, 1.08}, {1.1e9, 26, 1792, 7168, 14, 1.04},
                          {1.6e9, 28, 2048, 8192, 16, 1.03}, {6.8e9, 40, 3584, 14336, 28, 0.99}};
  for (const Row& row : rows) {
    const Transformer transformer{row.layers, row.width, row.heads, row.ffw, 32000, 2048};
    const double parameters = parameters_of(transformer);
    CHECK(parameters == Approx(row.parameters).epsilon(0.04));
    CHECK(std::round(100 * flops_per_sequence(transformer) / (6 * parameters * 2048)) == std::round(100 * row.ratio));
  }
}

TEST_CASE("parameters and FLOPs of the smallest model, counted by hand") {
  const Transformer transformer{10, 640, 10, 2560, 32000, 2048};
  CHECK(parameters_of(transformer) == 73825280);
  CHECK(flops_per_sequence(transformer) == 929877196800);
}

}  // namespace trainlab::transformer_test
