// CheckpointRule: when a stage commits a checkpoint by itself. A stage commits at its end and at a stop too, whatever
// its rule is.
#pragma once

#include <cstdint>
#include <optional>

namespace trainlab {

// At most one of the two is set. With neither, a checkpoint follows the one before after some seconds, at the next
// convenient step: a validation in a fit, any step in a task.
struct CheckpointRule {
  std::optional<std::int64_t> steps;  // steps from one checkpoint to the next, at least 1
  std::optional<double> seconds;      // the first step that ends so long after the checkpoint before

  // Whether a checkpoint is due after `step` steps, `since` seconds after the checkpoint before.
  bool is_due(std::int64_t step, double since, bool is_convenient) const;
  // The number of steps from one checkpoint to the next where a step takes `step_seconds` and one step in
  // `convenient_every` is convenient. nullopt where the rule needs a time and `step_seconds` is not above 0.
  std::optional<double> interval(double step_seconds, double convenient_every) const;
};

}  // namespace trainlab
