#include <catch2/catch.hpp>
#include <cmath>

#include "forecast/golden_section.h"

namespace trainlab::golden_section_test {

TEST_CASE("the least value is found, also at an end") {
  int calls = 0;
  const auto parabola = [&](double x) {
    ++calls;
    return (x - 0.3) * (x - 0.3);
  };
  CHECK(golden_section(-2, 5, 30, parabola) == Approx(0.3).margin(7 * std::pow(0.6180339887498949, 30)));
  CHECK(calls == 32);
  CHECK(golden_section(1, 2, 40, parabola) == Approx(1).margin(1e-8));
  CHECK(golden_section(-2, -1, 40, parabola) == Approx(-1).margin(1e-8));
}

}  // namespace trainlab::golden_section_test
