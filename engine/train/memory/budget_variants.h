// The variants of a fit among which memory.budget chooses, beside the way in which a step is taken.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/option_lines.h"
#include "train/fit_plan.h"
#include "train/memory_prediction.h"

namespace trainlab {

// The values of memory.allow: each permits what those before it permit.
enum class Allow : std::uint8_t { exact, close, any };
Allow allow_of(const Options& memory);
const char* name_of(Allow allow);

// Options that change the numbers of a training or lie in a file, with their price.
struct BudgetVariant {
  Lines lines;
  double price = 0;
  Allow allow = Allow::exact;  // the first that permits them
  bool is_lean = true;         // whether no other variant takes less memory for sure
};

// The price of a byte of the optimizer's state or the activations in a file, as a share of a step's time: an estimate
// from the arithmetic of a step.
double estimated_byte_price(const FitPlan& plan);
// The estimate; where all that `allow` permits gives the same bytes, the measured time of the disk. `activations`:
// their bytes. Error{run} where the disk is full, and an error for which lacks_room() where a plain forward pass is too
// large.
double byte_price_of(const FitPlan& plan, Allow allow, std::int64_t activations);

// Whether the recipe says nothing about a member of the option `memory`.
bool leaves_open(const FitPlan& plan, const char* option);
// Whether a budget may choose memory.chunk_loss, with which a training rounds otherwise.
bool can_chunk(const FitPlan& plan);

// Whether the recipe says with how many threads the loader works.
bool says_threads(const FitPlan& plan);

// All that `allow` permits to vary, the cheapest first. `plain`: the memory of the plan. `byte_price`: that of a
// byte in a file; without one, files are not used.
std::vector<BudgetVariant> variants(const FitPlan& plan, Allow allow, const TrainingMemory& plain,
                                    std::optional<double> byte_price);

}  // namespace trainlab
