// Texts about operators: their form, descriptions of arguments, what is wrong with the arguments of a call, and the
// errors of a call.
#include <algorithm>
#include <cmath>

#include "core/registry.h"
#include "core/words.h"
#include "operator_arguments.h"
#include "operator_rules.h"
#include "tensor/operator_errors.h"
#include "tensor/text.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

using Given = OperatorArgument;
using Kind = OperatorArgument::Kind;

std::string expected(const Parameter& p) {
  std::string text;
  const std::string several = p.count > 0 ? std::to_string(p.count) + " " : "";
  switch (p.takes) {
    case Takes::tensor: text = p.number_too ? "a tensor or a number" : "a tensor"; break;
    case Takes::integer: text = "an integer"; break;
    case Takes::boolean: text = "true or false"; break;
    case Takes::floating:
    case Takes::scalar: text = "a number"; break;
    case Takes::text: text = "a text"; break;
    case Takes::device: text = "a device (\"cpu\", \"cuda\", \"cuda:N\")"; break;
    case Takes::dtype: text = "a dtype such as \"float32\" or \"int64\""; break;
    case Takes::layout: text = "a layout (\"strided\", \"sparse_coo\" …)"; break;
    case Takes::memory_format: text = "a memory format (\"channels_last\" …)"; break;
    case Takes::reduction: text = "\"none\", \"mean\" or \"sum\""; break;
    case Takes::generator: text = "nothing"; break;
    case Takes::tensors:
    case Takes::optional_tensors: text = "a list of tensors"; break;
    case Takes::integers: text = "a list of " + several + "integers"; break;
    case Takes::floats:
    case Takes::scalars: text = "a list of " + several + "numbers"; break;
    case Takes::booleans: text = "a list of " + several + "booleans"; break;
  }
  return p.optional ? text + " or nil" : text;
}

// Returns the given number that a parameter of whole numbers cannot take: a fraction, or a number so large that doubles
// have gaps there. NaN where the parameter can take all that is given, or expects no whole numbers.
double not_whole(const Parameter& p, const Given& a, const OperatorArguments& all) {
  const bool is_list = a.kind == Kind::list && p.takes == Takes::integers;
  const bool is_one = p.takes == Takes::integer || p.takes == Takes::integers;
  const std::uint32_t count = is_list ? a.count : is_one ? 1 : 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Given& one = is_list ? all.elements[a.first + i] : a;
    if (one.kind == Kind::number && !is_whole(one.number)) return one.number;
  }
  return std::nan("");
}

// Text and hint for a value that does not fit. `place`: of the parameter in the call.
template <class Misfit>
void tell_unfit(Misfit& misfit, const std::string& place, const Parameter& p, const Given& a,
                const OperatorArguments& all) {
  misfit.text = place + ": expected " + expected(p) + ", found " + all.text(a);
  const double number = not_whole(p, a, all);
  if (a.kind == Kind::list && !std::isnan(number)) misfit.text += ", " + number_text(number) + " among them";
  if (std::isfinite(number) && std::trunc(number) == number)
    misfit.hint = "beyond 2^53 not every whole number is exact";
}

std::string tensor_text(const at::Tensor* tensor) {
  return tensor->defined() ? "a tensor " + tensor_kind(*tensor) : "a tensor that was released";
}

}  // namespace

std::string OperatorArguments::text(const OperatorArgument& a) const {
  switch (a.kind) {
    case Kind::nil: return "nil";
    case Kind::boolean: return a.boolean ? "true" : "false";
    case Kind::number: return number_text(a.number);
    case Kind::text: return Value(valid_utf8(a.text)).brief();
    case Kind::tensor: return tensor_text(a.tensor);
    case Kind::list: {
      if (a.count == 0) return "an empty list";
      for (std::uint32_t i = 1; i < a.count; ++i) {
        if (elements[a.first + i].kind != elements[a.first].kind) return "a list of different things";
      }
      const Given& one = elements[a.first];
      const std::string each = one.kind == Kind::number    ? "numbers"
                               : one.kind == Kind::tensor  ? "tensors"
                               : one.kind == Kind::boolean ? "booleans"
                               : one.kind == Kind::text    ? "texts"
                                                           : "other things";
      return "a list of " + std::to_string(a.count) + " " + each;
    }
    case Kind::other: return std::string(a.text);
  }
  return "";
}

std::string Overload::text() const {
  const auto value = [](const Parameter& p) -> std::string {
    const c10::IValue& v = p.fallback;
    if (v.isNone()) return "nil";
    if (p.takes == Takes::dtype) return "\"" + dtype_name(v.toScalarType()) + "\"";
    if (p.takes == Takes::memory_format) return "\"contiguous_format\"";
    if (p.takes == Takes::reduction) return "\"" + std::string(reductions[static_cast<std::size_t>(v.toInt())]) + "\"";
    if (v.isInt()) return std::to_string(v.toInt());
    if (v.isDouble()) return number_text(v.toDouble());
    if (v.isBool()) return v.toBool() ? "true" : "false";
    if (v.isString()) return "\"" + v.toStringRef() + "\"";
    if (v.isList()) {
      std::string text;
      for (const c10::IValue& element : v.toListRef()) {
        text += text.empty() ? "" : ", ";
        text += element.isInt()    ? std::to_string(element.toInt())
                : element.isBool() ? (element.toBool() ? "true" : "false")
                                   : "…";
      }
      return "{" + text + "}";
    }
    return "…";
  };
  std::string positional, named;
  for (const Parameter& p : parameters_) {
    if (p.takes == Takes::generator) continue;
    std::string& to = p.by_name ? named : positional;
    to += (to.empty() ? "" : ", ") + p.name;
    if (!p.required) to += " = " + value(p);
  }
  if (draws()) named += std::string(named.empty() ? "" : ", ") + "seed = nil";
  std::string text = "ops." + handle_.operator_name().name.substr(6) + "(" + positional;
  if (!named.empty()) text += std::string(positional.empty() ? "" : ", ") + "{ " + named + " }";
  text += ")";
  std::string results;
  for (const c10::Argument& result : schema().returns())
    results += (results.empty() ? " → " : ", ") + (result.name().empty() ? std::string("tensor") : result.name());
  return text + results;
}

std::string Overload::place(std::size_t parameter, bool by_name) const {
  const std::string& name = parameters_[parameter].name;
  return by_name ? "'" + name + "'" : "argument " + std::to_string(parameter + 1) + " (" + name + ")";
}

void Overload::check_rules(const OperatorArguments& arguments, const torch::jit::Stack& values) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& p = parameters_[i];
    if (!p.rule || p.rule->holds(values, i)) continue;
    const Given* a = given(arguments, i);
    throw recipe_error(place(i, i >= arguments.positional.size()) + ": expected " + p.rule->expected + ", found " +
                       (a ? arguments.text(*a) : "nothing"));
  }
}

Overload::Misfit Overload::misfit(const OperatorArguments& arguments) const {
  Misfit found;
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
    if (i >= positional_) {
      found.text = "expected at most " + counted(positional_, "argument") + ", found " +
                   std::to_string(arguments.positional.size());
      if (i < parameters_.size()) found.hint = "options are given by name: { " + parameters_[i].name + " = … }";
      return found;
    }
    if (!fits(parameters_[i], arguments.positional[i], arguments)) {
      const Given& a = arguments.positional[i];
      tell_unfit(found, place(i, false), parameters_[i], a, arguments);
      if (a.kind == Kind::tensor && (parameters_[i].takes == Takes::scalar || parameters_[i].takes == Takes::floating))
        found.hint = "t:item() is the number in a tensor of one element";
      return found;
    }
    ++found.fitting;
  }
  std::vector<std::string> names;
  for (const Parameter& p : parameters_) {
    if (p.takes != Takes::generator) names.push_back(p.name);
  }
  if (draws()) names.emplace_back("seed");
  for (const auto& [name, value] : arguments.named) {
    const auto known = std::find_if(parameters_.begin(), parameters_.end(), [&, &n = name](const Parameter& p) {
      return p.name == n && p.takes != Takes::generator;
    });
    if (known == parameters_.end()) {
      if (name == "seed" && draws()) continue;
      found.text = "there is no argument '" + std::string(name) + "'";
      const std::string close = Registry::closest(name, names);
      found.hint = close.empty() ? text() : "did you mean '" + close + "'?";
      return found;
    }
    const auto i = static_cast<std::size_t>(known - parameters_.begin());
    if (i < arguments.positional.size()) {
      found.text = place(i, true) + " is given twice, by position and by name";
      return found;
    }
    if (!fits(*known, value, arguments)) {
      tell_unfit(found, place(i, true), *known, value, arguments);
      return found;
    }
    ++found.fitting;
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].required && !given(arguments, i)) {
      found.text =
          (i < positional_ ? place(i, false) : place(i, true)) + ": missing; expected " + expected(parameters_[i]);
      return found;
    }
  }
  return found;
}

Error Operator::released(const OperatorArguments& arguments) const {
  const auto& parameters = overloads_.front().parameters();
  std::string place = "an argument";
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
    const Given& a = arguments.positional[i];
    if (a.kind != Kind::tensor || a.tensor->defined()) continue;
    place = "argument " + std::to_string(i + 1);
    if (i < parameters.size()) place += " (" + parameters[i].name + ")";
    break;
  }
  return recipe_error(place + ": a tensor was used after it had been released")
      .hint("lab.scope releases all tensors that its function makes and does not return");
}

Error Operator::explain(const Overload& overload, const OperatorArguments& arguments,
                        const std::exception& error) const {
  Error plain = operator_error(error);
  std::string text = plain.message();
  // "Could not run 'aten::x' with arguments from the 'CPU' backend. This could be because …", a page of it.
  if (const auto page = text.find(". This could be because"); page != std::string::npos) text.resize(page);
  std::string tensors;
  const auto add = [&](const std::string& name, const Given& a) {
    if (a.kind != Kind::tensor) return;
    tensors += (tensors.empty() ? "" : ", ") + name + " " + tensor_kind(*a.tensor);
  };
  std::size_t i = 0;
  for (const Given& a : arguments.positional) {
    const std::string name = i < overload.parameters_.size() ? overload.parameters_[i].name : "";
    ++i;
    add(name, a);
    for (std::uint32_t k = 0; a.kind == Kind::list && k < std::min(a.count, 8U); ++k)
      add(name + "[" + std::to_string(k + 1) + "]", arguments.elements[a.first + k]);
  }
  for (const auto& [name, value] : arguments.named) add(std::string(name), value);
  Error explained(plain.kind(), tensors.empty() ? text : text + " (" + tensors + ")");
  explained.in("lab.ops." + name_);
  if (text.find("modified by an inplace operation") != std::string::npos)
    explained.hint("an operator whose name ends in _ has changed a tensor that the backward pass needs");
  else if (name_ == "randint" && text.find("to be less than") != std::string::npos)
    explained.hint(
        "the numbers are drawn from low up to, without, high; sizes after a single bound are a list: "
        "randint(high, { 2, 3 })");
  else
    explained.hint(plain.hint());
  return explained;
}

}  // namespace trainlab
