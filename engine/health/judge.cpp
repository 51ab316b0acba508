// The rules of health, and which faults are symptoms of which.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "core/error.h"
#include "rules/rules.h"

namespace trainlab {
namespace {

using enum HealthKind;

constexpr std::array<std::string_view, health_kind_count> names{"unnormalised_inputs", "leakage",
                                                                "class_collapse",      "below_floor",
                                                                "not_finite",          "exploding_gradients",
                                                                "dead_units",          "saturated_units",
                                                                "vanishing_gradients", "small_batch_statistics",
                                                                "rate_too_high",       "rate_too_low",
                                                                "noisy_gradients",     "overfitting",
                                                                "underfitting",        "plateau"};

using Kinds = std::uint32_t;  // a bit for each kind

constexpr Kinds bit(HealthKind kind) { return Kinds{1} << static_cast<unsigned>(kind); }

constexpr Kinds kinds(std::initializer_list<HealthKind> list) {
  Kinds all = 0;
  for (const HealthKind kind : list) all |= bit(kind);
  return all;
}

// Faults that any run which does not learn shows in the end, whatever the cause.
constexpr Kinds course = kinds({noisy_gradients, overfitting, underfitting, plateau, class_collapse});
constexpr Kinds layers = kinds({exploding_gradients, dead_units, saturated_units, vanishing_gradients});
constexpr Kinds rate = kinds({rate_too_high, rate_too_low});

struct Rule {
  HealthKind kind;
  Finding (*find)(const HealthFigures&);
  Kinds symptoms;
  std::string_view own_name = {};  // of a rule whose kind has another rule too
  // Returns the reason for which the later course of the run refutes a verdict of the rule, unless the rule still finds
  // the fault. Null where a verdict stays in any case.
  std::optional<std::string> (*refute)(const HealthVerdict&, const HealthFigures&) = nullptr;

  std::string_view name() const { return own_name.empty() ? name_of(kind) : own_name; }
  // The kinds of faults that are not looked for further down once the rule has found its fault.
  Kinds hides() const { return symptoms | bit(kind); }
};

// The rules in the order in which causes are looked for. A rule that finds its fault hides its symptoms further down.
constexpr std::array rules{
    Rule{class_collapse, find_one_label, layers | rate | course, "one_label"},
    Rule{leakage, find_leakage, bit(below_floor)},
    Rule{leakage, find_leakage_into_test, 0, "leakage_into_test"},
    Rule{not_finite, find_not_finite_data, layers | rate | course | bit(unnormalised_inputs), "not_finite_data"},
    Rule{unnormalised_inputs, find_unnormalised_inputs, layers | rate | course | bit(not_finite)},
    Rule{below_floor, find_below_floor, layers | rate | course | bit(not_finite)},
    Rule{saturated_units, find_saturated_at_start, layers | rate | course | bit(not_finite)},
    Rule{exploding_gradients, find_exploding_gradients, layers | rate | course | bit(not_finite)},
    Rule{vanishing_gradients, find_vanishing_gradients, layers | rate | course, "", refute_by_learning},
    Rule{saturated_units, find_saturated_later, layers | rate | course | bit(not_finite), "saturated_later"},
    Rule{dead_units, find_dead_units, layers | rate | course},
    Rule{small_batch_statistics, find_small_batch_statistics, kinds({noisy_gradients, underfitting, plateau})},
    Rule{rate_too_high, find_rate_too_high, course | rate | bit(not_finite), "", refute_by_learning},
    // A loss that jumps late does not explain that the training part was learnt by heart before.
    Rule{rate_too_high, find_loss_lost_again,
         rate | kinds({not_finite, noisy_gradients, underfitting, plateau, class_collapse}), "loss_lost_again",
         refute_by_learning},
    Rule{not_finite, find_not_finite, course | rate},
    Rule{rate_too_low, find_rate_too_low, course},
    Rule{overfitting, find_overfitting, kinds({noisy_gradients, underfitting, plateau, class_collapse}), "",
         refute_overfitting},
    Rule{noisy_gradients, find_noisy_gradients, course},
    Rule{class_collapse, find_one_class_chosen, kinds({underfitting, plateau})},
    Rule{class_collapse, find_rare_classes_missed, kinds({underfitting, plateau}), "rare_classes_missed"},
    Rule{underfitting, find_underfitting, bit(plateau), "", refute_underfitting},
    Rule{plateau, find_plateau, 0},
};

// The position in the list of the rule that has given this verdict.
std::size_t place_of(const HealthVerdict& verdict) {
  std::size_t place = rules.size();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].kind != verdict.kind) continue;
    place = i;
    if (rules[i].name() == verdict.rule) break;
  }
  return place;
}

bool hides(std::size_t rule, std::size_t other) {
  return rule <= other && (rules[rule].hides() & bit(rules[other].kind));
}

}  // namespace

std::string_view name_of(HealthKind kind) { return names[static_cast<std::size_t>(kind)]; }

std::vector<HealthVerdict> judge(const HealthFigures& figures) {
  std::vector<HealthVerdict> found;
  Kinds hidden = 0;
  for (const Rule& rule : rules) {
    if (hidden & bit(rule.kind)) continue;
    Finding verdict = rule.find(figures);
    if (!verdict) continue;
    if (verdict->step == 0) verdict->step = figures.steps_done();
    verdict->rule = rule.name();
    hidden |= rule.hides();
    found.push_back(std::move(*verdict));
  }
  return found;
}

std::vector<HealthVerdict> add_verdicts(std::vector<HealthVerdict>& told, std::vector<HealthVerdict> found) {
  std::vector<HealthVerdict> added;
  for (HealthVerdict& verdict : found) {
    const std::size_t place = place_of(verdict);
    if (std::ranges::any_of(told, [&](const HealthVerdict& earlier) { return hides(place_of(earlier), place); }))
      continue;
    std::erase_if(told, [&](const HealthVerdict& earlier) { return hides(place, place_of(earlier)); });
    added.push_back(verdict);
    told.push_back(std::move(verdict));
  }
  return added;
}

std::vector<std::string> take_back(std::vector<HealthVerdict>& told, const HealthFigures& figures) {
  std::vector<std::string> lines;
  std::erase_if(told, [&](const HealthVerdict& verdict) {
    const std::size_t place = place_of(verdict);
    const auto refute = place < rules.size() ? rules[place].refute : nullptr;
    const std::optional<std::string> against = refute ? refute(verdict, figures) : std::nullopt;
    if (!against || rules[place].find(figures)) return false;
    lines.push_back(fmt::format("health: {} is taken back after {} steps: {}", name_of(verdict.kind),
                                figures.steps_done(), *against));
    return true;
  });
  return lines;
}

Value to_value(const HealthVerdict& verdict) {
  return Value::Map{{"kind", name_of(verdict.kind)},
                    {"step", verdict.step},
                    {"confidence", verdict.confidence},
                    {"evidence", verdict.evidence},
                    {"remedy", verdict.remedy}};
}

Value to_value(const std::vector<HealthVerdict>& verdicts) {
  Value::List all;
  for (const HealthVerdict& verdict : verdicts) all.push_back(to_value(verdict));
  return all;
}

Value to_stored(const HealthVerdict& verdict) {
  Value value = to_value(verdict);
  value.set("rule", verdict.rule);
  value.set("heard", verdict.is_heard);
  return value;
}

HealthVerdict verdict_of_stored(const Value& value) {
  const auto found = std::ranges::find(names, value["kind"].string());
  if (found == names.end()) throw recipe_error("a verdict of the unknown kind " + value["kind"].brief());
  return {.kind = static_cast<HealthKind>(found - names.begin()),
          .step = value["step"].integer(),
          .confidence = value["confidence"].string(),
          .evidence = value["evidence"].string(),
          .remedy = value["remedy"].string(),
          .rule = value["rule"].is_string() ? value["rule"].string() : "",  // else of an earlier version
          .is_heard = value["heard"] == Value(true)};
}

std::string text_of(const HealthVerdict& verdict) {
  return fmt::format("health: {} ({} confidence, after {} steps): {}. Remedy: {}", name_of(verdict.kind),
                     verdict.confidence, verdict.step, verdict.evidence, verdict.remedy);
}

}  // namespace trainlab
