// Functions with known optima that samplers are judged by. peer_quality.py has the same ones for the peer; the values
// at a probe point, stored with the peer's results, keep the two in step.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "study/space.h"

namespace trainlab {

struct TestFunction {
  std::string name;
  Space space;
  std::size_t objectives = 1;
  // One value for each objective, the smaller the better, at a point of the space.
  std::function<std::vector<double>(std::span<const double> point)> value;
  // Parameters by name where both sides are compared.
  Value::Map probe;
};

std::vector<TestFunction> test_functions();

// The area that the points [n, 2] dominate below (1.1, 6).
double dominated_area(std::vector<std::pair<double, double>> points);

}  // namespace trainlab
