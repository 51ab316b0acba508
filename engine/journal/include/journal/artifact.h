// Files that a recipe writes: artifacts/NAME of a run.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <variant>

#include "tensor/named_tensors.h"

namespace trainlab {

// The content of a file that a recipe writes: bytes, or tensors by name for a .safetensors file.
using Artifact = std::variant<std::string, NamedTensors>;

// The bytes of a file; the ending of its name gives the format:
//   .npy   any tensor
//   .png   an image [H, W] or [C, H, W] with C 1 or 3, or [N, C, H, W] as a grid; uint8, or numbers in 0…1
// Error{recipe} for another ending, or a tensor that the format cannot hold. Thread-safe.
std::string artifact_bytes(const at::Tensor& tensor, const std::string& name);

// Error{recipe} that begins with `who` ("run:save") if a recipe must not give a file this name: a name with a folder, a
// hidden name, or a name like that of a checkpoint (last-…, best-…, loop-…). Thread-safe.
void check_file_name(std::string_view who, const std::string& name);

// Writes artifacts/NAME below the folder of a stage, atomically; Errors of write_atomic; Error{recipe} for tensors by
// name in a file with another ending, and for tensors that the format cannot hold.
void write_artifact(const std::filesystem::path& folder, const std::string& name, const Artifact& content);

}  // namespace trainlab
