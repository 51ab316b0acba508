// safetensors files (8-byte little-endian header length, JSON header, raw little-endian data), written and read.
//
// Tensors are written in order of name, 64-byte aligned, with no time or host in the file: equal tensors give equal
// bytes. A reader trusts nothing: header length and depth are capped, offsets must be in range, in order, without
// overlap or gap, and match dtype and shape.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>

namespace trainlab {

using NamedTensors = std::map<std::string, at::Tensor>;
using Metadata = std::map<std::string, std::string>;

// Atomic. Returns the hex BLAKE2b-256 of the file's bytes. Tensors of any device and layout; copied only when needed.
std::string save_safetensors(const std::filesystem::path& path, const NamedTensors& tensors, const Metadata& metadata = {});

struct LoadedTensors {
  NamedTensors tensors;  // on the CPU, owning their memory
  Metadata metadata;
};
// Error{recipe} naming the file and what is wrong with it (too short, header too large, unknown dtype, offsets …).
LoadedTensors load_safetensors(const std::filesystem::path& path);

}  // namespace trainlab
