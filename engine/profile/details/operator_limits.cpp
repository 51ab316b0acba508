#include "operator_limits.h"

#include <algorithm>

namespace trainlab {
namespace {

// An operator is small if all its tensors take little memory, if a call is short, and if products explain less than a
// fifth of its time. LibTorch does not divide the work of so few elements among threads (at::internal::GRAIN_SIZE is
// 32768). The limits of bytes and seconds are choices.
constexpr double small_bytes = 64 * 1024, small_seconds = 100e-6, explained = 0.2;

// The seconds that the operator's calls in a step take at least: for its products, and for its bytes, which come from
// the machine's memory where those of a call do not fit the L2 caches.
class Roofs {
 public:
  Roofs(const Roofline& machine, int threads, const std::string& type)
      : flops_(machine.peak_flops(threads, type)),
        bytes_(machine.peak_bytes(threads)),
        cache_(cache_bytes(machine, threads)) {}
  double computing(const OperatorCost& one) const { return one.flops > 0 && flops_ > 0 ? one.flops / flops_ : 0; }
  double moving(const OperatorCost& one) const {
    return one.calls > 0 && one.bytes / one.calls > cache_ && bytes_ > 0 ? one.bytes / bytes_ : 0;
  }

 private:
  const double flops_, bytes_, cache_;
};

}  // namespace

std::optional<double> roof_share(const LayerCost& row, const Roofline& machine, int threads, const std::string& type) {
  const Roofs roofs(machine, threads, type);
  double least = 0;
  for (const OperatorCost& one : row.operators) least += std::max(roofs.computing(one), roofs.moving(one));
  if (least <= 0 || row.seconds() <= 0) return std::nullopt;
  return least / row.seconds();
}

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
  const Roofs roofs(machine, threads, type);
  LimitedSeconds limited;
  const auto add = [&](const OperatorCost& one) {
    if (one.calls <= 0) return;
    const double seconds = one.seconds / one.calls, bytes = one.bytes / one.calls;
    const double computing = roofs.computing(one) / one.calls, moving = roofs.moving(one) / one.calls;
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
