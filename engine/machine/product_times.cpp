#include "machine/product_times.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "machine/machine.h"
#include "machine_facts.h"
#include "run/stage.h"
#include "stored_measurement.h"
#include "tensor/random.h"
#include "tensor/types.h"

namespace trainlab {
namespace {

constexpr std::size_t rounds = 20;
constexpr double longest = 0.1;  // after a type has taken these seconds in all, no further round is timed

// The stored time of a type; 0 where the file, which may hold anything, has no positive number for the type.
double time_from(const Value& measured, const std::string& type) {
  const Value& value = measured[type];
  return value.is_number() && value.number() > 0 ? value.number() : 0;
}

}  // namespace

ProductTimes measure_products() {
  struct Timed {
    at::ScalarType type;
    at::Tensor a, b, out;
    std::vector<double> seconds;
    double all = 0;
  };
  const ThreadsKept kept;
  at::set_num_threads(1);
  const at::NoGradGuard no_gradients;
  std::vector<Timed> types;
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    const auto filled = [&](std::uint64_t key) {
      const at::Tensor values = at::empty({product_size, product_size}, at::kFloat);
      fill_uniform(values, Key(key), -1, 1);
      return values.to(type);
    };
    types.push_back({.type = type, .a = filled(1), .b = filled(2), .out = at::empty({0}, type), .seconds = {}});
    at::mm_out(types.back().out, types.back().a, types.back().b);  // not timed: creates the kernel
  }
  // The types take turns, and the shortest time of each counts: other work on the machine can only slow them.
  for (std::size_t round = 0; round < rounds; ++round) {
    for (Timed& one : types) {
      if (one.all > longest) continue;
      if (stop_requested()) throw Error(ErrorKind::interrupted, "asked to stop while the machine was measured");
      const double begin = steady_seconds();
      at::mm_out(one.out, one.a, one.b);
      one.seconds.push_back(steady_seconds() - begin);
      one.all += one.seconds.back();
    }
  }
  ProductTimes times;
  for (const Timed& one : types) times[dtype_name(one.type)] = std::ranges::min(one.seconds);
  return times;
}

Value product_fingerprint() {
  Value all = machine_fingerprint();
  for (const char* name : {"ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS"}) {
    if (const char* const value = std::getenv(name)) all.set(name, value);
  }
  return all;
}

double relative_product_time(c10::ScalarType type, const ProductCalibration& calibration) {
  const std::filesystem::path folder = calibration.folder.empty() ? cache_folder() : calibration.folder;
  const std::filesystem::path path = folder.empty() ? folder : folder / "products.json";
  const Value machine = calibration.fingerprint();
  const Value stored = stored_measurement(path, machine);
  const double known = time_from(stored, dtype_name(type)), known_float = time_from(stored, "float32");
  if (known > 0 && known_float > 0) return known / known_float;
  const ProductTimes times = calibration.measure();
  store_measurement(path, machine, Value::Map(times.begin(), times.end()));
  return times.at(dtype_name(type)) / times.at("float32");
}

}  // namespace trainlab
