// lab.fit: trains one model (or, for studies, a group of equal ones) to its length, a stop rule or a budget.
#pragma once

#include <span>
#include <vector>

#include "core/registry.h"
#include "run/stage.h"

namespace trainlab {

struct FitMember {
  Options options;
  StageContext context;
};

// Trains the members together and returns a summary each. Their fits may differ in numbers (rates, decay, seed) but
// not in structure. axis: with a leading member axis even for one member. Failed members have status "failed"; what
// concerns all (a disk that is full, an error in a recipe's function) is raised after the state was kept as it is.
std::vector<Value> run_fits(std::span<const FitMember> members, const RunSettings& settings, bool axis);

void register_fit(Registry& registry);

}  // namespace trainlab
