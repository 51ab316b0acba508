// The mean step of a measurement in which steps of several uses take turns. Private to the room.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace trainlab {

enum class StepUse { none, counted, rows, operators, plain };

// Whether nothing listens to such a step.
constexpr bool is_left_alone(StepUse use) { return use == StepUse::none || use == StepUse::plain; }

struct UsedStep {
  StepUse use;
  double seconds;
  std::int64_t number = 0;  // in its run
};

// LayerTable::mean_seconds over the median step, from all steps but the cold ones in their order; `whole`: they are
// those of whole runs of the stage. What listens to a step makes the step longer, so that each step counts by the
// length of its use.
std::optional<double> mean_over_median(const std::vector<UsedStep>& steps, bool whole);

}  // namespace trainlab
