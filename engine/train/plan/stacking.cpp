#include "train/stacking.h"

#include <algorithm>

#include "optim/optimizer.h"
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

// True if members of a stack may have different values of this numeric option. Of a list's element, and of an entry in
// a table without a name of its own, the option is nullptr.
using MayDiffer = bool (*)(const Option* option);

bool nothing(const Option*) { return false; }
// Numbers of an optimizer, but not its kind and its switches.
bool anything(const Option*) { return true; }
bool by_member(const Option* option) { return option && option->is_by_member; }

// The parts of a spec that must be equal.
Value structure(const Registry& registry, const Value& value, MayDiffer may_differ) {
  const auto part = [&](const Option* option, const Value& one) {
    return one.is_number() && may_differ(option) ? Value("number") : structure(registry, one, may_differ);
  };
  if (value.is_list()) {
    Value::List list;
    for (const Value& one : value.list()) list.push_back(part(nullptr, one));
    return list;
  }
  if (!value.is_map()) return value;
  const Entry* entry = value["@"].is_string() ? registry.find(value["@"].string()) : nullptr;
  Value::Map map;
  for (const auto& [name, one] : value.map()) {
    if (name != "@at") map.emplace(name, part(entry ? entry->find(name) : nullptr, one));
  }
  return map;
}

// Whether members of a stack may differ in this option of the fit; "@at" tells the option's place in the recipe.
bool is_of_member(const Options& fit, const std::string& option) {
  return option == "@at" || by_member(fit.entry().find(option));
}

// Why a fit shares its structure with no other fit; empty where others may share it.
std::string why_unique(const Options& fit) {
  if (fit.given("step")) return "the fit has a step function of its own";
  if (fit.given("time")) return "the fit has a budget of time";
  for (const auto& [name, value] : fit.value().map()) {
    if (!is_of_member(fit, name) && holds_function(value)) return "the fit's option `" + name + "` holds a function";
  }
  return "";
}

}  // namespace

Value without_places(const Options& spec) { return structure(spec.registry(), spec.value(), nothing); }

std::string structure_of(const Options& fit) {
  if (!why_unique(fit).empty()) return "";
  Value::Map shared;
  for (const auto& [name, value] : fit.value().map()) {
    if (is_of_member(fit, name)) continue;
    shared.emplace(name, structure(fit.registry(), value, name == "model" ? by_member : nothing));
  }
  shared.emplace("optim", structure(fit.registry(), fit.child("optim").value(), anything));
  return to_json(Value(std::move(shared)));
}

std::string why_alone(const FitPlan& plan) {
  const Options& fit = plan.options;
  if (const std::string why = why_unique(fit); !why.empty()) return why;
  if (plan.chunk_loss) return "the last layer and the loss of a fit with chunk_loss take no member axis";
  if (plan.offload_optimizer) return "the optimizer's state lies in a file of one trial";
  if (plan.offload_activations) return "the activations lie in a file of one trial";
  if (plan.plans_for_one) return "what the fit computes again is chosen for one trial";
  if (const std::string layer = plan.model->not_stackable(); !layer.empty()) return layer + " takes no member axis";
  if (!takes_members(fit.child("optim"))) return fit.child("optim").entry().name + " takes no member axis";
  return "";
}

std::int64_t stack_size(const FitPlan& plan, int threads) {
  // The table was measured on CPUs. On other devices a recipe says itself how many trials make a stack.
  if (!plan.device.is_cpu() || !why_alone(plan).empty()) return 1;
  const Flops flops = plan.model->flops();
  const double step = (flops.forward + flops.backward) * static_cast<double>(plan.loader.batch * plan.accumulate);
  // Threads share the arithmetic of a step that is large enough for them, not the work of starting it.
  for (const Row& row : table) {
    if (step <= row.flops * threads) return row.members;
  }
  return 1;
}

}  // namespace trainlab
