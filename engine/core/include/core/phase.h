// The phases of a training: what spans (core/trace.h) tell about, and what figures are counted by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace trainlab {

enum class Phase : std::uint8_t {
  step,       // a training step as a whole
  fetch,      // waiting for a batch
  move,       // copying a batch to the device
  forward,    // a model's forward pass
  layer,      // a layer's forward pass; the span's name is the layer's path, "model[3].Linear"
  loss,       // the loss of an output
  backward,   // the backward pass of a loss
  gradients,  // what happens to the gradients before the optimizer takes them
  optimizer,  // the optimizer's step; evaluations that the optimizer asks for are inside
  average,    // the update of averaged weights
  validate,   // an evaluation; the span's name is that of the part, "val" or "test"
  commit,     // the writing of checkpoints
  callback,   // a function of the recipe: "start", … of the option `on`, "own step", "transform" of the data, "loss",
              // "stop", or the path of the layer whose forward pass it is; "run:save", the files that a function asks
              // for
  metrics,    // the metrics of an evaluation
  read,       // a value of a tensor that the recipe reads, for which a device is waited for
};
inline constexpr std::size_t phase_count = 15;

// "step", "fetch", …
std::string_view phase_name(Phase phase);

}  // namespace trainlab
