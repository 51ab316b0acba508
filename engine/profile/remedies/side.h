// Sides of a comparison: a training with or without a remedy, timed in short runs, and trained for a few steps so that
// weights can be compared. Private to the room.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/registry.h"
#include "profile/remedies.h"
#include "steps/step_collector.h"
#include "tensor/named_tensors.h"
#include "variant.h"

namespace trainlab {

// Steps after which weights are compared.
inline constexpr std::int64_t compared_steps = 5;

using Say = std::function<void(const std::string&)>;

// The result of some steps, or of a whole training that is shorter.
struct TrainedSteps {
  NamedTensors weights = {};              // none where nothing is kept
  std::optional<std::int64_t> peak = {};  // most bytes of tensors at a time, less those at the beginning
};

// A training with or without a remedy.
class Side {
 public:
  virtual ~Side() = default;
  // Samples a second in a short run; of a task, passes through its loops. Error where no step could be timed.
  virtual double speed() = 0;
  // Trains `compared_steps` steps.
  virtual TrainedSteps trained() = 0;
};

// The limits of short runs.
struct RunLimits {
  StepLimits steps = {};
  // Figures whose validations and checkpoints hold with all changes of one fit. Without them, the first run of a side
  // measures its own, or each run where `measures_all` is set.
  std::optional<StepFigures> known = {};
  bool measures_all = false;
  // Seconds of the recipe's functions at a validation, which hold with all changes that cannot touch the functions.
  // Without them a side measures its own.
  std::optional<double> validation_functions = {};
};

// The limits with and without a change of options below `path`. Where the change may touch functions whose seconds are
// given, each run measures them.
RunLimits limits_with(const Remedy& remedy, const std::string& path, RunLimits limits);

std::unique_ptr<Side> side_of_fit(Variant fit, Say say, const RunLimits& limits);
std::unique_ptr<Side> side_of_task(Options task, RunSettings settings, Say say, const RunLimits& limits);

// "same bytes", "same to rounding" (1e-5 of the largest weight of a tensor), "changes the result", or "not compared: …"
// where the training without the remedy keeps nothing.
std::string compared_weights(const NamedTensors& before, const NamedTensors& after);

}  // namespace trainlab
