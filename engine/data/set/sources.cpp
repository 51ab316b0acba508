#include "sources.h"

#include <utility>

namespace trainlab {

DataParts open_source(const Options& spec, const DataContext& context) {
  const auto& factory = spec.registry().implementation<DataFactory>(spec.entry());
  return placed_at(spec, "", [&] { return factory(spec, context); });
}

DataParts open_data(const Options& spec, const DataContext& context) {
  DataParts parts = open_source(spec, context);
  placed_at(spec, "", [&] { settle(parts); });
  parts.cut = nullptr;
  parts.encode_as = nullptr;
  parts.lookup = nullptr;
  return parts;
}

void settle(DataParts& parts) {
  if (const auto work = std::exchange(parts.settle, nullptr)) work(parts);
}

Option seed_option() { return Option("seed", "seed of the random draws (default: lab.seed)").integer().at_least(0); }

std::int64_t seed_of(const Options& spec, const DataContext& context) {
  return spec.given("seed") ? spec.integer("seed") : context.seed;
}

Part whole(Dataset dataset) { return {std::make_shared<const Dataset>(std::move(dataset)), nullptr}; }

}  // namespace trainlab
