#include "train/memory_ledger.h"

#include "core/trace.h"

namespace trainlab {

std::string memory_kind_name(MemoryKind kind) {
  static constexpr std::array names = {"weights", "gradients", "optimizer", "activations", "temporaries",
                                       "batches", "averages",  "script",    "other"};
  static_assert(names.size() == memory_kinds);
  return names[static_cast<std::size_t>(kind)];
}

Value MemoryLedger::to_value() const {
  Value::Map categories, place{{"phase", phase_name(phase)}, {"layer", layer}};
  for (std::size_t kind = 0; kind < memory_kinds; ++kind)
    categories[memory_kind_name(static_cast<MemoryKind>(kind))] = bytes[kind];
  Value::List all_layers, all_temporaries, points;
  for (const Temporaries& one : temporaries)
    all_temporaries.emplace_back(Value::Map{{"phase", phase_name(one.phase)}, {"bytes", one.bytes}});
  for (const Layer& one : layers)
    all_layers.emplace_back(Value::Map{{"path", one.path}, {"activations", one.activations}});
  for (const Point& point : curve) points.emplace_back(Value::Map{{"seconds", point.seconds}, {"bytes", point.bytes}});
  return Value::Map{{"peak", peak},
                    {"categories", std::move(categories)},
                    {"at", std::move(place)},
                    {"temporaries", std::move(all_temporaries)},
                    {"layers", std::move(all_layers)},
                    {"curve", std::move(points)}};
}

}  // namespace trainlab
