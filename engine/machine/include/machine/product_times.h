// How long this machine takes for matrix products in 16-bit types and in float32. The times are measured once, in less
// than a second, and are kept in the same way as the roofs of machine.h.
#pragma once

#include <c10/core/ScalarType.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "core/value.h"

namespace trainlab {

// The rows and columns of the square matrices that are multiplied, by LibTorch on one thread.
constexpr std::int64_t product_size = 512;
using ProductTimes = std::map<std::string, double>;  // seconds of a product by type: "float32", "bfloat16", "float16"

// Measures the times. Sets the number of LibTorch's threads, and sets it back. Error{interrupted} when the process is
// asked to stop meanwhile. To be called while no other thread computes.
ProductTimes measure_products();

// The machine to which the times belong: machine_fingerprint() together with the environment variables that keep
// LibTorch from using some of the processor's instructions.
Value product_fingerprint();

struct ProductCalibration {
  std::filesystem::path folder = {};  // the same as Calibration::folder
  std::function<Value()> fingerprint = product_fingerprint;
  std::function<ProductTimes()> measure = measure_products;
};

// The time of a product in bfloat16 or float16 relative to one in float32: below 1 where the type is faster. From the
// stored measurement if it is of this machine and undamaged; else from a new one, which is stored.
double relative_product_time(c10::ScalarType type, const ProductCalibration& calibration = {});

}  // namespace trainlab
