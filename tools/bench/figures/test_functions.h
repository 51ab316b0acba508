// Functions with known optima that samplers are judged by. peers/quality.py has the same ones for the peer; the values
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
  // One value for each objective, the smaller the better, at a point of the space.
  std::function<std::vector<double>(std::span<const double> point)> value;
  // With several objectives the point below which the volume is measured; empty with one.
  std::vector<double> reference = {};
  // Parameters by name where both sides are compared.
  Value::Map probe;
};

std::vector<TestFunction> test_functions();

// The volume that the points [n][objectives] dominate below the reference.
double dominated_volume(std::vector<std::vector<double>> points, std::span<const double> reference);

}  // namespace trainlab
