#include "optim/optimizer.h"

#include <algorithm>
#include <stdexcept>

#include "core/words.h"
#include "entries.h"
#include "parameters.h"
#include "tensor/memory.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

std::vector<std::string> optimizers_for_bfloat16(const Registry& registry) {
  std::vector<std::string> names;
  for (const Entry* entry : registry.of_kind("optimizer"))
    if (registry.implementation<OptimizerKind>(*entry).takes_bfloat16) names.push_back(entry->name);
  return names;
}

}  // namespace

Options unwrapped(const Options& spec) { return spec.entry().find("base") ? unwrapped(spec.child("base")) : spec; }

std::unique_ptr<Optimizer> make_optimizer(std::span<const Options> specs, std::vector<OptimizedParameter> parameters,
                                          std::int64_t members) {
  if (members < 0 || specs.size() != static_cast<std::size_t>(members ? members : 1))
    throw std::logic_error("make_optimizer: " + std::to_string(specs.size()) + " specs for " + std::to_string(members) +
                           " members");
  const Options& first = specs.front();
  for (const Options& spec : specs)
    if (spec.entry().name != first.entry().name)
      throw std::logic_error("make_optimizer: " + spec.entry().name + " beside " + first.entry().name +
                             " in one group of members");
  const auto& kind = first.registry().implementation<OptimizerKind>(first.entry());
  if (has_rounded(parameters) && !kind.takes_bfloat16)
    throw first.error("", "weights in bfloat16 are for " + listed(optimizers_for_bfloat16(first.registry())) +
                              ", found " + first.entry().name);
  const MemoryCharge charge(MemoryUse::optimizer);
  return with_torch_errors([&] { return kind.make(specs, std::move(parameters), members); });
}

void Optimizer::averaged_weights(std::int64_t, std::span<const at::Tensor>) const {
  throw std::logic_error("optimizer: no average of the weights");
}

double learning_rate(const Options& spec) { return unwrapped(spec).number("lr"); }

double largest_usual_rate(const Options& spec) {
  return spec.registry().implementation<OptimizerKind>(unwrapped(spec).entry()).rates.largest;
}

std::string option_path_of(const Value& optimizer, std::string_view option) {
  std::string path = "optim.";
  for (const Value* inner = &optimizer["base"]; inner->is_map(); inner = &(*inner)["base"]) path += "base.";
  return path.append(option);
}

Value with_rate(Value optimizer, double rate) {
  const bool is_wrapper = optimizer["base"].is_map();
  optimizer.set(is_wrapper ? "base" : "lr", is_wrapper ? with_rate(optimizer["base"], rate) : Value(rate));
  return optimizer;
}

bool has_momentum(const Options& spec) {
  const Options own = unwrapped(spec);
  if (keeps_average(own)) return false;  // the average would be another one if the momentum changed
  return own.entry().find("betas") || (own.entry().find("momentum") && own.number("momentum") != 0);
}

bool has_weight_decay(const Options& spec) { return unwrapped(spec).entry().find("weight_decay") != nullptr; }

bool keeps_average(const Options& spec) {
  return spec.registry().implementation<OptimizerKind>(spec.entry()).keeps_average;
}

void refuse_average(const Options& spec, const std::string& option) {
  const Options inner = spec.child(option);
  if (keeps_average(inner))
    throw spec.error(option, "expected an optimizer without an average of its own, found " + inner.entry().name);
}

bool takes_members(const Options& spec) {
  if (!spec.registry().implementation<OptimizerKind>(spec.entry()).stackable) return false;
  for (const Option& option : spec.entry().options) {
    const bool names_optimizer =
        std::ranges::any_of(option.forms, [](const Form& form) { return form.kind == "optimizer"; });
    if (names_optimizer && spec.has(option.name) && !takes_members(spec.child(option.name))) return false;
  }
  return true;
}

Option rate_option(double by_default) {
  return Option("lr", "learning rate").number().at_least(0).or_default(by_default);
}

Option betas_option(double first, double second, std::string doc) {
  return Option("betas", std::move(doc))
      .number()
      .at_least(0)
      .less_than(1)
      .many(2)
      .or_default(Value::List{first, second});
}

Option eps_option(double by_default) {
  return Option("eps", "added to the denominator").number().at_least(0).or_default(by_default);
}

Option l2_option() {
  return Option("weight_decay", "L2 penalty, added to the gradient").number().at_least(0).or_default(0.0);
}

Option decoupled_option(double by_default) {
  return Option("weight_decay", "weights shrink by lr·weight_decay at each step")
      .number()
      .at_least(0)
      .or_default(by_default);
}

Option decay_option() {
  return Option("decay_norms_and_biases", "whether weight decay also acts on the parameters of norms and on biases")
      .boolean()
      .or_default(true);
}

}  // namespace trainlab
