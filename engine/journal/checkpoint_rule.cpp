#include "journal/checkpoint_rule.h"

#include <algorithm>
#include <cmath>

namespace trainlab {
namespace {

constexpr double default_seconds = 10;

}  // namespace

bool CheckpointRule::is_due(std::int64_t step, double since, bool is_convenient) const {
  if (steps) return step % *steps == 0;
  if (seconds) return since >= *seconds;
  return is_convenient && since >= default_seconds;
}

std::optional<double> CheckpointRule::interval(double step_seconds, double convenient_every) const {
  if (steps) return static_cast<double>(*steps);
  if (step_seconds <= 0) return std::nullopt;
  if (seconds) return std::max(1.0, std::ceil(*seconds / step_seconds));
  return convenient_every * std::max(1.0, std::ceil(default_seconds / (convenient_every * step_seconds)));
}

}  // namespace trainlab
