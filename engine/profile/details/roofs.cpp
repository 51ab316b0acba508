// Tells whether arithmetic, memory or calls of operators limit the forward and backward passes.
#include <algorithm>

#include "operator_limits.h"
#include "profile/details.h"

namespace trainlab {
namespace {

// The sum over the rows of both passes: bytes that the operators of a step move, or operations.
double of_passes(const LayerTable& layers, double LayerCost::*member) {
  double sum = 0;
  for (const LayerCost& row : layers.rows)
    if (is_in(row, TablePart::passes)) sum += row.*member;
  return sum;
}

// A call from a recipe takes this many times as long as a call from the engine: arguments are checked and converted,
// and the result becomes an object of Lua.
constexpr double calls_of_a_recipe = 2;

// Moves time of the passes to the launch gap, as far as the operators in `limited` are limited by their calls. The
// estimate from the number of calls alone knows operators of the usual cost only; convolutions cost several times as
// much.
void add_small_operators(Shares& shares, const LimitedSeconds& limited) {
  const double before = shares.launch_gap.value_or(0), others = shares.forward + shares.backward;
  if (limited.sum() <= 0 || others <= 0) return;
  const double more = std::max((others + before) * limited.call / limited.sum() - before, 0.0);
  const double left = std::max(1 - more / others, 0.0);
  shares.forward *= left;
  shares.backward *= left;
  shares.launch_gap = before + others - shares.forward - shares.backward;
}

void judge_operators(Measures& m, const Profile& profile, const ProfileDetails& details) {
  const auto limited = [&](TablePart part) {
    return limited_seconds(*details.layers, part, *details.machine, details.threads, details.type);
  };
  const LimitedSeconds passes = limited(TablePart::passes), functions = limited(TablePart::functions);
  const LimitedSeconds all{.call = passes.call + functions.call,
                           .memory = passes.memory + functions.memory,
                           .arithmetic = passes.arithmetic + functions.arithmetic};
  if (all.memory + all.arithmetic > 0) m.memory_limited = all.memory / (all.memory + all.arithmetic);
  add_small_operators(m.shares, all);
  if (profile.wall() <= 0) return;
  const double calls = calls_of_a_recipe * functions.small_calls * profile.call_seconds / profile.wall();
  const double of_recipe = std::min(calls, m.shares.recipe);
  m.shares.recipe -= of_recipe;
  m.shares.launch_gap = m.shares.launch_gap.value_or(0) + of_recipe;
}

}  // namespace

bool ProfileDetails::fits_cache() const {
  if (!machine || !memory) return false;
  const MemoryLedger& ledger = memory->ledger;
  const std::int64_t of_step =
      ledger.peak - ledger.of(MemoryKind::batches) - ledger.of(MemoryKind::averages) - ledger.of(MemoryKind::other);
  return static_cast<double>(of_step) <= cache_bytes(*machine, threads);
}

LayerTable ProfileDetails::layers_with_roofs() const {
  LayerTable table = *layers;
  for (LayerCost& row : table.rows) {
    if (machine) row.roof_share = roof_share(row, *machine, threads, type);
    if (!memory || !(row.is_layer || row.path == "loss")) continue;
    const auto kept = std::ranges::find(memory->ledger.layers, row.path, &MemoryLedger::Layer::path);
    row.activations = kept == memory->ledger.layers.end() ? 0 : kept->activations;
  }
  return table;
}

std::optional<double> flops_utilization(const Profile& profile, const Measures& measures) {
  if (!measures.flops || !measures.flops_roof || profile.steps.mean <= 0) return std::nullopt;
  return *measures.flops * profile.pass_seconds() / profile.steps.mean / *measures.flops_roof;
}

Measures measures_of(const Profile& profile, const ProfileDetails& details) {
  Measures m = measures_of(profile);
  if (details.pipeline) m.limiting_stage = stage_name(details.pipeline->slowest_stage());
  if (details.layers && profile.pass_seconds() > 0) {
    m.bytes = of_passes(*details.layers, &LayerCost::bytes) / profile.pass_seconds();
    if (!m.flops) m.flops = of_passes(*details.layers, &LayerCost::flops) / profile.pass_seconds();
  }
  if (!details.machine) return m;
  if (details.layers) judge_operators(m, profile, details);
  const double flops = details.machine->peak_flops(details.threads, details.type);
  if (flops > 0) m.flops_roof = flops;
  if (!details.fits_cache()) m.bytes_roof = details.machine->peak_bytes(details.threads);
  return m;
}

}  // namespace trainlab
