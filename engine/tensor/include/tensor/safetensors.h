// safetensors files (8-byte little-endian header length, JSON header, raw little-endian data), written and read.
//
// The data begin at a multiple of 64 bytes. Tensors lie in order of element size, largest first, then of name, so that
// each is aligned to its elements: the format allows no gaps. No time or host is in the file: equal tensors give equal
// bytes. The reader trusts nothing: header length, depth and rank are limited, offsets must be in range, without
// overlap or gap, and match dtype and shape. Thread-safe.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/files.h"
#include "tensor/named_tensors.h"

namespace trainlab {

using Metadata = std::map<std::string, std::string>;

// "a tensor of dtype complex64", "a sparse tensor": why no file can hold the tensor; empty where one can.
std::string unsavable_kind(const at::Tensor& tensor);

// Atomic. Returns the hex BLAKE2b-256 of the file's bytes. Tensors of any device and strides; copied only when needed.
// Error{recipe} for a dtype that the format lacks, Error of write_atomic when writing fails.
std::string save_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                             const Metadata& metadata = {}, FolderSync folder_sync = FolderSync::now);

struct LoadedTensors {
  NamedTensors tensors;  // on the CPU, owning their memory
  Metadata metadata;
};
// Error{recipe} naming the file and what is wrong with it (too short, header too large, unknown dtype, offsets …).
LoadedTensors load_safetensors(const std::filesystem::path& path);

}  // namespace trainlab
