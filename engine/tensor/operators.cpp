// Operators from schemas: which there are, what their parameters take, in which order overloads are tried.
#include "tensor/operators.h"

#include <ATen/core/enum_tag.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

#include "operator_dropout.h"
#include "tensor/names.h"

namespace trainlab {

namespace {

bool one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

struct Type {
  Takes takes;
  bool optional;
};

std::optional<Takes> list_of(c10::TypeKind element) {
  switch (element) {
    case c10::TypeKind::TensorType: return Takes::tensors;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType: return Takes::integers;
    case c10::TypeKind::FloatType: return Takes::floats;
    case c10::TypeKind::BoolType: return Takes::booleans;
    case c10::TypeKind::NumberType: return Takes::scalars;
    default: return std::nullopt;
  }
}

// nullopt: of no form that a script has.
std::optional<Type> type_of(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::OptionalType: {
      const auto inner = type_of(type->castRaw<c10::OptionalType>()->getElementType());
      if (!inner || inner->optional) return std::nullopt;
      return Type{inner->takes, true};
    }
    case c10::TypeKind::ListType: {
      const c10::TypePtr element = type->castRaw<c10::ListType>()->getElementType();
      if (const auto* optional = element->castRaw<c10::OptionalType>()) {
        if (optional->getElementType()->kind() != c10::TypeKind::TensorType) return std::nullopt;
        return Type{Takes::optional_tensors, false};
      }
      const auto takes = list_of(element->kind());
      if (!takes) return std::nullopt;
      return Type{*takes, false};
    }
    case c10::TypeKind::TensorType: return Type{Takes::tensor, false};
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType: return Type{Takes::integer, false};
    case c10::TypeKind::BoolType: return Type{Takes::boolean, false};
    case c10::TypeKind::FloatType: return Type{Takes::floating, false};
    case c10::TypeKind::NumberType: return Type{Takes::scalar, false};
    case c10::TypeKind::StringType: return Type{Takes::text, false};
    case c10::TypeKind::DeviceObjType: return Type{Takes::device, false};
    case c10::TypeKind::ScalarTypeType: return Type{Takes::dtype, false};
    case c10::TypeKind::LayoutType: return Type{Takes::layout, false};
    case c10::TypeKind::MemoryFormatType: return Type{Takes::memory_format, false};
    case c10::TypeKind::GeneratorType: return Type{Takes::generator, false};
    default: return std::nullopt;
  }
}

bool is_out(const c10::Argument& argument) {
  return argument.kwarg_only() && argument.alias_info() && argument.alias_info()->isWrite();
}

bool has_generator(const c10::FunctionSchema& schema) {
  return std::any_of(schema.arguments().begin(), schema.arguments().end(), [](const c10::Argument& argument) {
    const auto type = type_of(argument.real_type());
    return type && type->takes == Takes::generator;
  });
}

bool can_drop(const c10::FunctionSchema& schema) {
  return std::any_of(schema.arguments().begin(), schema.arguments().end(), [](const c10::Argument& argument) {
    return one_of(argument.name(), {"dropout", "dropout_p"});
  });
}

std::string_view base_name(const c10::OperatorHandle& handle) {
  return std::string_view(handle.operator_name().name).substr(std::string_view("aten::").size());
}

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

std::string operator_exclusion(const c10::OperatorHandle& handle) {
  const c10::FunctionSchema& schema = handle.schema();
  const std::string_view name = base_name(handle);
  const std::string& overload = schema.overload_name();
  for (const c10::Argument& argument : schema.arguments()) {
    if (is_out(argument)) return "writes into an argument `out`; results are returned";
  }
  if (overload.find("imname") != std::string::npos || overload.find("names") != std::string::npos)
    return "dimension names";
  for (const c10::Argument& argument : schema.arguments()) {
    if (!type_of(argument.real_type()))
      return "an argument has no form in a script: " + argument.real_type()->repr_str();
  }
  for (const c10::Argument& result : schema.returns()) {
    const auto type = type_of(result.real_type());
    if (!type || type->takes == Takes::generator)
      return "a result has no form in a script: " + result.real_type()->repr_str();
  }
  if (one_of(name, {"from_file"})) return "reads files";
  if (name.starts_with("resize") || name.starts_with("_resize") || one_of(name, {"set_", "set", "set_data"}))
    return "changes the memory behind a tensor";
  if (name.starts_with("sym_")) return "symbolic shapes";
  if (name == "_backward") return "is the method backward";
  if (handle.hasTag(at::Tag::nondeterministic_seeded) && !has_generator(schema) && !keyed_dropout(name) &&
      !can_drop(schema)) {
    return "draws from the global generator";
  }
  return "";
}

Overload::Overload(const c10::OperatorHandle& handle) : handle_(handle) {
  const std::string_view name = base_name(handle);
  const c10::FunctionSchema& from = handle.schema();
  bool tensors = false;
  for (const c10::Argument& argument : from.arguments()) {
    const Type type = *type_of(argument.real_type());
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
    if (parameter.takes == Takes::generator) {
      generator_ = index;
      parameter.required = false;
    }
    if (one_of(parameter.name, {"dropout", "dropout_p"})) dropout_ = index;
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
  numbers_are_floats_ =
      one_of(name, {"full", "scalar_tensor"}) || (name == "where" && from.overload_name() == "Scalar");
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
