#include "operator_limits.h"

namespace trainlab {
namespace {

// An operator is small if all its tensors take little memory, if a call is short, and if products explain less than a
// fifth of its time. LibTorch does not divide the work of so few elements among threads (at::internal::GRAIN_SIZE is
// 32768). The limits of bytes and seconds are choices.
constexpr double small_bytes = 64 * 1024, small_seconds = 100e-6, explained = 0.2;

}  // namespace

bool is_in(const LayerCost& row, TablePart part) {
  const bool of_passes = row.is_layer || row.path == "loss" || row.path == "backward";
  const bool of_functions = row.path == "own step" || row.path == "transform" || row.path.starts_with("on.");
  return part == TablePart::passes ? of_passes : of_functions;
}

double cache_bytes(const Roofline& machine, int threads) {
  return machine.cache.empty() ? 0 : static_cast<double>(machine.cache.front().bytes * threads);
}

LimitedSeconds limited_seconds(const LayerTable& table, TablePart part, const Roofline& machine, int threads,
                               const std::string& type) {
  const double flops_roof = machine.peak_flops(threads, type), bytes_roof = machine.peak_bytes(threads);
  LimitedSeconds limited;
  const auto add = [&](const OperatorCost& one) {
    if (one.calls <= 0) return;
    const double seconds = one.seconds / one.calls, bytes = one.bytes / one.calls;
    const double computing = one.flops > 0 && flops_roof > 0 ? one.flops / one.calls / flops_roof : 0;
    const double moving = bytes > cache_bytes(machine, threads) && bytes_roof > 0 ? bytes / bytes_roof : 0;
    if (bytes <= small_bytes && seconds < small_seconds && computing < explained * seconds) {
      limited.call += one.seconds;
      limited.small_calls += one.calls;
    } else {
      (moving > computing ? limited.memory : limited.arithmetic) += one.seconds;
    }
  };
  for (const LayerCost& row : table.rows)
    if (is_in(row, part))
      for (const OperatorCost& one : row.operators) add(one);
  return limited;
}

}  // namespace trainlab
