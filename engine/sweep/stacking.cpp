#include "stacking.h"

#include <algorithm>
#include <set>

#include "train/model_file.h"

namespace trainlab {

namespace {

// Arithmetic of a step, in FLOPs, up to which the work of starting kernels outweighs that of running them, so that a
// stack of `members` is faster than as many steps alone. Measured by tools/bench/run stack, on one thread.
struct Row {
  double flops;
  std::int64_t members;
};
constexpr Row table[] = {{4e6, 32}, {10e6, 16}};

// What must be equal. Numbers of an optimizer may differ, its kind and its switches not.
Value structure(const Value& value, bool numbers_differ) {
  if (value.is_list()) {
    Value::List list;
    for (const Value& one : value.list()) list.push_back(structure(one, numbers_differ));
    return list;
  }
  if (value.is_number() && numbers_differ) return "number";
  if (!value.is_map()) return value;
  Value::Map map;
  for (const auto& [name, one] : value.map()) {
    if (name != "@at") map.emplace(name, structure(one, numbers_differ));
  }
  return map;
}

// Layers whose probability p may differ: a group drops with each member's own. (nn.AlphaDropout's sets its scale too.)
const std::set<std::string, std::less<>> dropping{"nn.Dropout", "nn.Dropout1d", "nn.Dropout2d", "nn.StochasticDepth"};

Value model_structure(const Value& value) {
  if (value.is_list()) {
    Value::List list;
    for (const Value& one : value.list()) list.push_back(model_structure(one));
    return list;
  }
  if (!value.is_map()) return value;
  const Value& entry = value["@"];
  const bool drops = entry.is_string() && dropping.contains(entry.string());
  Value::Map map;
  for (const auto& [name, one] : value.map()) {
    if (name == "@at") continue;
    const bool is_probability = one.is_number() && (name == "dropout" || (name == "p" && drops));
    map.emplace(name, is_probability ? Value("probability") : model_structure(one));
  }
  return map;
}

}  // namespace

Value without_places(const Value& spec) { return structure(spec, false); }

std::string structure_of(const Options& fit) {
  static const std::set<std::string, std::less<>> own{"@at", "name", "seed", "schedule", "stop", "on", "optim"};
  Value::Map shared;
  for (const auto& [name, value] : fit.value().map()) {
    if (own.contains(name)) continue;
    if (holds_function(value)) return "";
    shared.emplace(name, name == "model" ? model_structure(value) : without_places(value));
  }
  if (fit.given("step") || fit.given("time")) return "";
  shared.emplace("optim", structure(fit.child("optim").value(), true));
  // A table of schedules also tells which of the optimizer's numbers have one.
  if (fit.given("schedule") && !fit.is_function("schedule") && !fit.is_entry("schedule"))
    shared.emplace("schedule", without_places(fit.get("schedule")));
  return to_json(Value(std::move(shared)));
}

bool can_stack(const FitPlan& plan) {
  if (!plan.model || plan.step || plan.device != at::kCPU || !plan.model->not_stackable().empty()) return false;
  return plan.options.child("optim").entry().name != "optim.LBFGS";
}

std::int64_t stack_size(const FitPlan& plan, int threads) {
  if (!can_stack(plan)) return 1;
  const Flops flops = plan.model->flops();
  const double step = (flops.forward + flops.backward) * static_cast<double>(plan.loader.batch * plan.accumulate);
  // Threads share the arithmetic of a step that is large enough for them, not the work of starting it.
  for (const Row& row : table) {
    if (step <= row.flops * threads) return row.members;
  }
  return 1;
}

}  // namespace trainlab
