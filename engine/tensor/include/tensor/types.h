// Names of dtypes and devices, shapes as text, and LibTorch's errors as ours.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace trainlab {

using Shape = std::vector<std::int64_t>;

std::string shape_text(at::IntArrayRef shape);  // "[32, 1, 8, 8]"
std::int64_t element_count(const Shape& shape);
std::string dtype_name(at::ScalarType type);  // "float32"
// "auto", "cpu", "cuda", "cuda:1", or a device that a plugin brings, which is loaded for it (tensor/device_plugin.h).
// Error{usage} when the device is not there; "auto" is the GPU where one is usable.
at::Device parse_device(std::string_view name);

// Sets the number of ATen's operator threads for this process. Makes numbers below 1e-38 count as 0 on this thread and
// on threads that it starts: averages of gradients that have become 0 decay into such numbers, and arithmetic on them
// is 100 times slower (a third of the time of AdamW on MNIST). Makes freed memory stay with the process
// (keep_freed_pages), in pages of 2 MiB if the system has them: activations and gradients are freed and allocated anew
// at each step. The faults of small pages took a sixth of the time of a residual network, and to take the gradient of a
// large embedding from the system in each step took a third. Call before the first operator, on the thread that trains.
void prepare_arithmetic(int threads);

// The error of an operator as Error{recipe} with its own text and without its backtrace; Error{run} if memory ran out
// or the device has failed.
Error torch_error(const c10::Error& error);

// Runs f; a c10::Error becomes torch_error of it.
template <class F>
decltype(auto) with_torch_errors(F&& f) {
  try {
    return f();
  } catch (const c10::Error& error) {
    throw torch_error(error);
  }
}

}  // namespace trainlab
