// Tells whether calls, memory or arithmetic limit the operators of a table of layers. Private to the room.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "machine/machine.h"
#include "profile/layers.h"

namespace trainlab {

// Seconds of operators in a step, by what limits the operators.
struct LimitedSeconds {
  double call = 0;         // the call itself: the operator has next to nothing to compute or to move
  double memory = 0;       // bytes, which come from the machine's memory because they do not fit the L2 caches
  double arithmetic = 0;   // all other operators
  double small_calls = 0;  // number of calls that `call` counts

  double sum() const { return call + memory + arithmetic; }
};

enum class TablePart {
  passes,    // layers, loss, and what autograd does between them
  functions  // functions of the recipe, and its own steps
};

bool is_in(const LayerCost& row, TablePart part);

// The share of the time of the row's operators that they would take at the roofs of the machine, each at the roof that
// limits it; nullopt where no roof limits an operator of the row, or none is known.
std::optional<double> roof_share(const LayerCost& row, const Roofline& machine, int threads, const std::string& type);

LimitedSeconds limited_seconds(const LayerTable& table, TablePart part, const Roofline& machine, int threads,
                               const std::string& type);

// The L2 caches of the cores that `threads` threads run on, in bytes; 0: unknown.
double cache_bytes(const Roofline& machine, int threads);

}  // namespace trainlab
