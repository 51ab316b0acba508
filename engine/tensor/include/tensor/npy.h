// NumPy's .npy files: a header that is a Python literal, then the values. Files are read and written without Python:
// arrays of objects, which are pickles, are refused.
//
// The format: numpy.lib.format, versions 1.0 to 3.0. Thread-safe.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>

#include "core/byte_source.h"

namespace trainlab {

// A tensor that owns its memory, into which the values are read, on the CPU, contiguous (Fortran order is turned). All
// dtypes of whole numbers, floats, complex numbers and booleans, in either byte order. `name` is for messages.
// Error{recipe} for a file that is not npy, a pickle, a header that is damaged or too long, a dtype that tensors lack,
// and a shape that does not fit the bytes.
at::Tensor load_npy(ByteSource& source, const std::string& name);
at::Tensor load_npy(std::string_view bytes, const std::string& name);

// The bytes of an npy file of version 1.0. A tensor of any device and strides. Error{recipe} for a dtype that NumPy
// lacks (bfloat16).
std::string npy_bytes(const at::Tensor& tensor, const std::string& name);

}  // namespace trainlab
