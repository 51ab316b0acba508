// Files that a recipe writes of tensors: artifacts/NAME of a run.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace trainlab {

// The bytes of a file whose format its name says:
//   .npy   any tensor
//   .png   an image [H, W] or [C, H, W] with C 1 or 3, or [N, C, H, W] as a grid; uint8, or numbers in 0…1
// Error{recipe} for another ending, or a tensor that the format cannot hold. Thread-safe.
std::string artifact_bytes(const at::Tensor& tensor, const std::string& name);

}  // namespace trainlab
