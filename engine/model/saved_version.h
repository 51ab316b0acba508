#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "tensor/types.h"

namespace trainlab {

// The version of a tensor that a hook keeps for the backward pass. Autograd counts how often a tensor was changed in
// place, and refuses a backward pass that needs values which are there no more; of a tensor that a hook keeps, it does
// not ask. Holds none of the tensor's memory. An undefined tensor never changes.
class SavedVersion {
 public:
  explicit SavedVersion(const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    counter_ = tensor.unsafeGetTensorImpl()->version_counter();
    version_ = now();
  }
  // Whether the tensor has the values that it had.
  bool is_current() const { return now() == version_; }
  // The sentence with which autograd refuses a tensor that was changed.
  std::string complaint(at::ScalarType type, at::IntArrayRef sizes) const {
    return "one of the variables needed for gradient computation has been modified by an inplace operation: a tensor " +
           dtype_name(type) + " " + shape_text(sizes) + " is at version " + std::to_string(now()) +
           "; expected version " + std::to_string(version_) + " instead";
  }

 private:
  std::uint32_t now() const { return counter_.enabled() ? counter_.current_version() : 0; }

  c10::VariableVersion counter_;
  std::uint32_t version_ = 0;
};

}  // namespace trainlab
