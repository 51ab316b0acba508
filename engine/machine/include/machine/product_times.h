// How long this machine takes for products of matrices in types of fewer digits: measured once in less than a second,
// and kept as the roofs of machine.h are.
#pragma once

#include <c10/core/ScalarType.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "core/value.h"

namespace trainlab {

// Seconds of a product of two square matrices of this size by LibTorch on one thread.
constexpr std::int64_t product_size = 512;
using ProductTimes = std::map<std::string, double>;  // by name of the type: "float32", "bfloat16", "float16"

// Measures. Sets the number of LibTorch's threads, and sets it back. Error{run} when the process is asked to stop
// meanwhile. To be called while no other thread computes.
ProductTimes measure_products();

// The machine to which the times belong: that of machine_fingerprint(), and the variables of the environment that keep
// LibTorch from instructions of the processor.
Value product_fingerprint();

struct ProductCalibration {
  std::filesystem::path folder = {};  // as in Calibration
  std::function<Value()> fingerprint = product_fingerprint;
  std::function<ProductTimes()> measure = measure_products;
};

// The time of a product in bfloat16 or float16 relative to one in float32: below 1 where the type is faster. From the
// stored measurement if it is of this machine and undamaged; else from a new one, which is stored.
double relative_product_time(c10::ScalarType type, const ProductCalibration& calibration = {});

}  // namespace trainlab
