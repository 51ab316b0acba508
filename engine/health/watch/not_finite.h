#pragma once

#include <optional>
#include <span>
#include <string>

#include "health/figures.h"
#include "train/gradient_pass.h"

namespace trainlab {

// Repeats the forward pass of a step whose loss is not finite, and finds where the first value that is not finite came
// from: the batch, weights of an earlier step, a layer, or the loss. Values of the batch are the origin too where they
// are enormous. `names`: the names of the weights in `facts`. Waits for the device.
NotFinite find_origin(const StepFacts& facts, std::span<const std::string> names);

// Repeats the forward pass of a step whose loss is finite and enormous. Returns nothing unless values of the batch are
// enormous. Waits for the device.
std::optional<NotFinite> find_outliers(const StepFacts& facts);

}  // namespace trainlab
