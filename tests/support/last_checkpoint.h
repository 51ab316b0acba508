// The tensors that a fit has left in its newest checkpoint.
#pragma once

#include <ATen/ops/equal.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "tensor/safetensors.h"

namespace trainlab::test {

inline NamedTensors last_checkpoint(const std::filesystem::path& folder) {
  std::filesystem::path newest;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "checkpoints")) {
    const std::string name = entry.path().filename();
    if (name.starts_with("last-") && name.ends_with(".safetensors")) newest = std::max(newest, entry.path());
  }
  return load_safetensors(newest).tensors;
}

inline bool same_tensors(const NamedTensors& a, const NamedTensors& b) {
  return a.size() == b.size() &&
         std::ranges::all_of(a, [&](const auto& one) { return at::equal(one.second, b.at(one.first)); });
}

}  // namespace trainlab::test
