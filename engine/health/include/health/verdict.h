// HealthVerdict: a fault of a training, the evidence for this fault, and the change of the recipe that remedies it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/value.h"
#include "health/figures.h"
#include "train/fix.h"

namespace trainlab {

// The kinds of faults. judge.cpp has the order in which they are looked for.
enum class HealthKind : std::uint8_t {
  unnormalised_inputs,
  leakage,
  class_collapse,
  below_floor,
  not_finite,
  exploding_gradients,
  dead_units,
  saturated_units,
  vanishing_gradients,
  small_batch_statistics,
  rate_too_high,
  rate_too_low,
  noisy_gradients,
  overfitting,
  underfitting,
  plateau,
};
inline constexpr std::size_t health_kind_count = 16;

// "unnormalised_inputs", …
std::string_view name_of(HealthKind kind);

// The part of a remedy that health.action = "fix" applies by itself.
struct Cure {
  FixedOption option;
  Value value = {};
  std::int64_t good_until = 0;  // Fix::good_until
};

struct HealthVerdict {
  HealthKind kind;
  std::int64_t step = 0;   // steps done when the figures first showed the fault
  std::string confidence;  // "high", "medium" or "low"
  std::string evidence;    // a sentence with the figures
  std::string remedy;      // the change of the recipe that remedies the fault
  // Empty where no single option is the remedy, and in a verdict that was read from a checkpoint.
  std::optional<Cure> cure = {};
  // The rule that has found the fault, by its name; several rules may find faults of one kind. Empty: the rule of the
  // kind that looks last.
  std::string rule = {};
  bool is_heard = false;  // whether the recipe's function on.health was called with the verdict, without an error
};

// The verdicts that the figures give, causes before symptoms. A symptom of a cause that was found is left out, so that
// one fault gives one verdict. The list is empty when no fault is found, and while too little is known. A pure
// function.
std::vector<HealthVerdict> judge(const HealthFigures& figures);

// Adds the verdicts that are neither among `told` nor symptoms of these, and removes from `told` the symptoms of causes
// that were found later: what is told in the end is what judge() says of faults that are found together. Returns the
// verdicts that were added.
std::vector<HealthVerdict> add_verdicts(std::vector<HealthVerdict>& told, std::vector<HealthVerdict> found);

// Removes from `told` the verdicts that the later course of the run has refuted, and that the figures do not give now.
// Returns a line for the log for each.
std::vector<std::string> take_back(std::vector<HealthVerdict>& told, const HealthFigures& figures);

// { kind, step, confidence, evidence, remedy }, as in summary.json.
Value to_value(const HealthVerdict& verdict);
Value to_value(const std::vector<HealthVerdict>& verdicts);
// The same with `rule` and `is_heard`, as a checkpoint keeps it; and back.
Value to_stored(const HealthVerdict& verdict);
HealthVerdict verdict_of_stored(const Value& value);
// A line for the log.
std::string text_of(const HealthVerdict& verdict);

}  // namespace trainlab
