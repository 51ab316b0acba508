// Autocast: operators that functions of a recipe call multiply matrices and convolve in a type of fewer digits.
#pragma once

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

namespace trainlab {

// While the object lives, on this thread: LibTorch's autocast with its lists of operators. Operators of matrix products
// and convolutions convert operands in float32 to `type`, losses convert theirs to float32, and other operators take
// tensors as they are. Objects may be nested. Does nothing on devices other than the CPU and CUDA, for which LibTorch
// has no lists.
class Autocast {
 public:
  Autocast(c10::DeviceType device, c10::ScalarType type);
  ~Autocast();
  Autocast(const Autocast&) = delete;

 private:
  c10::DeviceType device_;
  bool has_lists_, was_enabled_ = false;
  c10::ScalarType before_ = c10::ScalarType::Undefined;
};

}  // namespace trainlab
