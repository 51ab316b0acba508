// Operators from schemas: what their parameters take, in which order overloads are tried.
#include "tensor/operators.h"

#include <ATen/Context.h>
#include <ATen/core/enum_tag.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

#include "core/callable.h"
#include "operator_dropout.h"
#include "operator_rules.h"
#include "operator_schema.h"
#include "tensor/names.h"

namespace trainlab {

namespace {

// Rank among overloads: the lower is tried first.
int rank(const Parameter& parameter) {
  constexpr std::array order = {Takes::tensor,  Takes::tensors,  Takes::optional_tensors, Takes::integer,
                                Takes::boolean, Takes::floating, Takes::scalar,           Takes::integers};
  const auto found = std::find(order.begin(), order.end(), parameter.takes);
  return static_cast<int>(found - order.begin());
}

bool comes_before(const Overload& a, const Overload& b) {
  const auto& left = a.parameters();
  const auto& right = b.parameters();
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (rank(left[i]) != rank(right[i])) return rank(left[i]) < rank(right[i]);
  }
  if (left.size() != right.size()) return left.size() < right.size();
  return a.schema().overload_name() < b.schema().overload_name();
}

struct Table {
  std::vector<std::string> names;
  std::map<std::string, std::vector<c10::OperatorHandle>, std::less<>> handles;
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Operator>, std::less<>> made;

  Table() {
    at::globalContext().setCheckSparseTensorInvariants(true);  // indices within the shape
    c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
    for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
      if (name.name.compare(0, 6, "aten::") != 0) continue;
      const auto handle = dispatcher.findSchema(name);
      if (handle && operator_exclusion(*handle).empty()) handles[name.name.substr(6)].push_back(*handle);
    }
    for (const auto& [name, overloads] : handles) names.push_back(name);
  }
};

Table& table() {
  static Table all;
  return all;
}

}  // namespace

Overload::Overload(const c10::OperatorHandle& handle) : handle_(handle) {
  const std::string_view name = base_name(handle);
  const c10::FunctionSchema& from = handle.schema();
  bool tensors = false;
  for (const c10::Argument& argument : from.arguments()) {
    const ScriptType type = *script_type(argument.real_type());
    Parameter parameter;
    parameter.name = argument.name();
    parameter.takes = type.takes;
    parameter.optional = type.optional;
    parameter.required = !argument.default_value();
    parameter.by_name = argument.kwarg_only();
    parameter.count = argument.N().value_or(0);
    if (argument.default_value()) parameter.fallback = *argument.default_value();
    const auto index = static_cast<int>(parameters_.size());
    if (parameter.takes == Takes::integer && parameter.name == "reduction") parameter.takes = Takes::reduction;
    parameter.rule = argument_rule(name, parameter.name);
    has_rules_ = has_rules_ || parameter.rule;
    if (parameter.takes == Takes::generator) {
      generator_ = index;
      parameter.required = false;
    }
    if (one_of(parameter.name, {"dropout", "dropout_p"})) dropout_ = index;
    if (name == "linalg_lstsq" && parameter.name == "driver") driver_ = index;
    if (parameter.name == "train") training_ = index;
    if (!parameter.by_name && generator_ != index) positional_ = parameters_.size() + 1;
    tensors = tensors || parameter.takes == Takes::tensor;
    parameters_.push_back(std::move(parameter));
  }
  if (!handle.hasTag(at::Tag::nondeterministic_seeded)) dropout_ = -1;
  own_ = keyed_dropout(name);
  // a * 2: ATen's overload for a number makes a tensor of it and calls this one through the dispatcher a second time.
  if (from.overload_name() == "Tensor" && one_of(name, {"add", "sub", "mul", "div", "add_", "sub_", "mul_", "div_"}))
    parameters_[1].number_too = true;
  in_place_ = from.is_mutable();
  const std::size_t list = !parameters_.empty() && parameters_[0].takes == Takes::tensor ? 1 : 0;
  if (positional_ == list + 1 && parameters_[list].takes == Takes::integers && parameters_[list].count == 0)
    trailing_ = static_cast<int>(list);
  if (name == "randint") trailing_ = static_cast<int>(positional_) - 1;  // after one bound or two
  numbers_are_floats_ =
      one_of(name, {"full", "scalar_tensor"}) || (name == "where" && from.overload_name() == "Scalar");
  // PyTorch's own t.to(device): the schema wants a dtype as well.
  keeps_dtype_ = name == "to" && from.overload_name() == "device";
  if (keeps_dtype_) parameters_[2].required = false;
  // A median over a dimension of stride 0 reads outside of the tensor, and so do labels of CTC with strides.
  if (one_of(name, {"median", "nanmedian"})) compact_ = 0;
  if (name == "ctc_loss") compact_ = 1;
  // The parts of a sparse tensor stay out of reach: if they were changed later, kernels would leave the tensor's
  // memory.
  copies_ = name.starts_with("sparse_") && name.ends_with("_tensor");
  undefined_memory_ = name.starts_with("empty") || name.starts_with("new_empty");
}

const Operator* find_operator(std::string_view name) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  if (const auto made = all.made.find(name); made != all.made.end()) return made->second.get();
  const auto found = all.handles.find(name);
  if (found == all.handles.end()) return nullptr;
  std::vector<Overload> overloads;
  overloads.reserve(found->second.size());
  for (const c10::OperatorHandle& handle : found->second) overloads.emplace_back(handle);
  std::sort(overloads.begin(), overloads.end(), comes_before);
  auto made = std::make_unique<Operator>(std::string(name), std::move(overloads));
  return all.made.emplace(std::string(name), std::move(made)).first->second.get();
}

const std::vector<std::string>& operator_names() { return table().names; }

}  // namespace trainlab
