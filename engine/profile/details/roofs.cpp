// How much of the machine's arithmetic and memory bandwidth the forward and backward passes use.
#include "profile/details.h"

namespace trainlab {
namespace {

// Bytes that the operators of both passes move in a step.
double bytes_of_passes(const LayerTable& layers) {
  double bytes = 0;
  for (const LayerCost& row : layers.rows)
    if (row.is_layer || row.path == "loss" || row.path == "backward") bytes += row.bytes;
  return bytes;
}

}  // namespace

bool FitDetails::fits_cache() const {
  if (!machine || machine->cache.empty() || !memory) return false;
  const MemoryLedger& ledger = memory->ledger;
  const std::int64_t of_step =
      ledger.peak - ledger.of(MemoryKind::batches) - ledger.of(MemoryKind::averages) - ledger.of(MemoryKind::other);
  return of_step <= machine->cache.front().bytes * threads;
}

Measures measures_of(const Profile& profile, const FitDetails& details) {
  Measures m = measures_of(profile);
  if (details.pipeline) m.limiting_stage = stage_name(details.pipeline->slowest_stage());
  if (details.layers && profile.pass_seconds() > 0) m.bytes = bytes_of_passes(*details.layers) / profile.pass_seconds();
  if (!details.machine) return m;
  const double flops = details.machine->peak_flops(details.threads, details.type);
  if (flops > 0) m.flops_roof = flops;
  if (!details.fits_cache()) m.bytes_roof = details.machine->peak_bytes(details.threads);
  return m;
}

}  // namespace trainlab
