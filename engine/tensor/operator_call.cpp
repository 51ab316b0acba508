// A call of an operator: choosing the overload, converting the arguments, saying what is wrong with them.
#include <ATen/ScalarOps.h>
#include <ATen/core/List.h>
#include <c10/core/Scalar.h>

#include <array>
#include <cmath>
#include <limits>

#include "core/registry.h"
#include "operator_dropout.h"
#include "tensor/generator.h"
#include "tensor/names.h"
#include "tensor/operators.h"
#include "tensor/text.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

using Given = OperatorArgument;
using Kind = OperatorArgument::Kind;

constexpr double exact_integers = 9007199254740992.0;  // 2^53
constexpr double largest_float = std::numeric_limits<float>::max();
constexpr std::array reductions = {std::string_view("none"), std::string_view("mean"), std::string_view("sum")};

bool whole(double x) { return std::fabs(x) <= exact_integers && std::trunc(x) == x; }
bool is_integer(const Given& a) { return a.kind == Kind::number && whole(a.number); }

std::int64_t reduction_index(std::string_view name) {
  return std::find(reductions.begin(), reductions.end(), name) - reductions.begin();
}

bool names_device(std::string_view text) {
  return text == "auto" || text == "cpu" || text == "cuda" || text.starts_with("cuda:");
}

at::Scalar scalar(const Given& a, bool as_float) {
  if (a.kind == Kind::boolean) return a.boolean;
  const bool integer = !as_float && whole(a.number) && !(a.number == 0 && std::signbit(a.number));
  return integer ? at::Scalar(static_cast<std::int64_t>(a.number)) : at::Scalar(a.number);
}

std::int64_t integer(const Given& a) { return static_cast<std::int64_t>(a.number); }

bool element_fits(Takes list, const Given& a) {
  switch (list) {
    case Takes::tensors: return a.kind == Kind::tensor;
    case Takes::optional_tensors: return a.kind == Kind::tensor || a.kind == Kind::nil;
    case Takes::integers: return is_integer(a);
    case Takes::floats: return a.kind == Kind::number;
    case Takes::booleans: return a.kind == Kind::boolean;
    case Takes::scalars: return a.kind == Kind::number || a.kind == Kind::boolean;
    default: return false;
  }
}

// One value for a list with a given length: stride = 2.
bool stands_for_list(const Parameter& p, const Given& a) {
  return p.count > 0 && (p.takes == Takes::integers || p.takes == Takes::floats || p.takes == Takes::scalars) &&
         element_fits(p.takes, a);
}

bool fits(const Parameter& p, const Given& a, const OperatorArguments& arguments) {
  switch (a.kind) {
    case Kind::tensor: return p.takes == Takes::tensor;
    case Kind::number:
      switch (p.takes) {
        case Takes::floating:
        case Takes::scalar: return true;
        case Takes::tensor: return p.number_too;
        case Takes::integer:
        case Takes::reduction: return whole(a.number);
        default: return stands_for_list(p, a);
      }
    case Kind::boolean: return p.takes == Takes::boolean || p.takes == Takes::scalar;
    case Kind::nil: return p.optional || !p.required;
    case Kind::text:
      switch (p.takes) {
        case Takes::text: return true;
        case Takes::dtype: return find_dtype(a.text).has_value();
        case Takes::device: return names_device(a.text);
        case Takes::layout: return find_layout(a.text).has_value();
        case Takes::memory_format: return find_memory_format(a.text).has_value();
        case Takes::reduction: return reduction_index(a.text) < 3;
        default: return false;
      }
    case Kind::list: {
      if (p.takes < Takes::tensors) return false;
      for (std::uint32_t i = 0; i < a.count; ++i) {
        if (!element_fits(p.takes, arguments.elements[a.first + i])) return false;
      }
      return true;
    }
    case Kind::other: return false;
  }
  return false;
}

const at::Tensor& tensor(const Given& a) { return *a.tensor; }

template <class T, class Convert>
c10::IValue list_value(std::span<const Given> elements, Convert&& convert) {
  c10::List<T> list;
  list.reserve(elements.size());
  for (const Given& element : elements) list.push_back(convert(element));
  return list;
}

c10::IValue list_value(Takes takes, std::span<const Given> elements) {
  switch (takes) {
    case Takes::tensors: return list_value<at::Tensor>(elements, tensor);
    case Takes::optional_tensors:
      return list_value<std::optional<at::Tensor>>(elements, [](const Given& a) {
        return a.kind == Kind::nil ? std::nullopt : std::optional<at::Tensor>(tensor(a));
      });
    case Takes::floats: return list_value<double>(elements, [](const Given& a) { return a.number; });
    case Takes::booleans: return list_value<bool>(elements, [](const Given& a) { return a.boolean; });
    case Takes::scalars: return list_value<at::Scalar>(elements, [](const Given& a) { return scalar(a, false); });
    default: return list_value<std::int64_t>(elements, integer);
  }
}

// A number beside a tensor. float32 and float64 are never changed by it, so it comes in their type at once and is not
// converted in a second call; for the rest LibTorch decides by the number's own type.
at::Tensor number_tensor(const Given& a, const OperatorArguments& arguments) {
  const Given* self = arguments.positional.empty() ? nullptr : &arguments.positional.front();
  const auto type = self && self->kind == Kind::tensor ? self->tensor->scalar_type() : at::kInt;
  const bool fits_type = type == at::kDouble || (type == at::kFloat && std::fabs(a.number) <= largest_float);
  if (!fits_type) return at::native::wrapped_scalar_tensor(scalar(a, false));
  at::Tensor number = at::detail::scalar_tensor_static(a.number, type, at::kCPU);
  number.unsafeGetTensorImpl()->set_wrapped_number(true);
  return number;
}

// An argument that fits.
c10::IValue converted(const Parameter& p, const Given& a, const OperatorArguments& arguments, bool as_float) {
  if (a.kind == Kind::nil) return p.required ? c10::IValue() : p.fallback;
  switch (p.takes) {
    case Takes::tensor: return a.kind == Kind::tensor ? tensor(a) : number_tensor(a, arguments);
    case Takes::integer: return integer(a);
    case Takes::boolean: return a.boolean;
    case Takes::floating: return a.number;
    case Takes::scalar: return scalar(a, as_float);
    case Takes::text: return std::string(a.text);
    case Takes::device: return parse_device(a.text);
    case Takes::dtype: return *find_dtype(a.text);
    case Takes::layout: return *find_layout(a.text);
    case Takes::memory_format: return *find_memory_format(a.text);
    case Takes::reduction: return a.kind == Kind::text ? reduction_index(a.text) : integer(a);
    case Takes::generator: return c10::IValue();
    default: break;
  }
  if (a.kind == Kind::list) return list_value(p.takes, {arguments.elements.data() + a.first, a.count});
  const std::vector<Given> copies(static_cast<std::size_t>(p.count), a);
  return list_value(p.takes, copies);
}

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

const Given* Overload::seed(const OperatorArguments& arguments) const {
  if (!draws()) return nullptr;
  for (const auto& [name, value] : arguments.named) {
    if (name == "seed") return &value;
  }
  return nullptr;
}

const Given* Overload::given(const OperatorArguments& arguments, std::size_t parameter) const {
  if (parameter < positional_ && parameter < arguments.positional.size()) return &arguments.positional[parameter];
  for (const auto& [name, value] : arguments.named) {
    if (name == parameters_[parameter].name) return &value;
  }
  return nullptr;
}

// view(2, 3): integers from the list parameter on.
bool Overload::takes_trailing(const OperatorArguments& arguments) const {
  if (trailing_ < 0) return false;
  const auto from = static_cast<std::size_t>(trailing_);
  if (arguments.positional.size() <= from) return false;
  return std::all_of(arguments.positional.begin() + trailing_, arguments.positional.end(), is_integer);
}

bool Overload::takes(const OperatorArguments& arguments) const {
  const std::size_t given_by_position = arguments.positional.size();
  std::size_t checked = given_by_position;
  const bool trailing = takes_trailing(arguments);
  if (trailing) {
    checked = static_cast<std::size_t>(trailing_);
  } else if (given_by_position > positional_) {
    return false;
  }
  for (std::size_t i = 0; i < checked; ++i) {
    if (!fits(parameters_[i], arguments.positional[i], arguments)) return false;
  }
  std::size_t next = trailing ? checked + 1 : checked;
  if (arguments.named.empty()) {
    for (; next < parameters_.size(); ++next) {
      if (parameters_[next].required) return false;
    }
    return true;
  }
  std::size_t used = seed(arguments) ? 1 : 0;
  for (; next < parameters_.size(); ++next) {
    const Parameter& p = parameters_[next];
    const Given* value = nullptr;
    for (const auto& [name, argument] : arguments.named) {
      if (name == p.name) value = &argument;
    }
    if (!value) {
      if (p.required) return false;
      continue;
    }
    if (p.takes == Takes::generator || !fits(p, *value, arguments)) return false;
    ++used;
  }
  return used == arguments.named.size();
}

Overload::Misfit Overload::misfit(const OperatorArguments& arguments) const {
  Misfit found;
  const auto place = [&](std::size_t i, bool by_name) {
    return by_name ? "'" + parameters_[i].name + "'"
                   : "argument " + std::to_string(i + 1) + " (" + parameters_[i].name + ")";
  };
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
    if (i >= positional_) {
      found.text = "expected at most " + std::to_string(positional_) + " argument" + (positional_ == 1 ? "" : "s") +
                   ", found " + std::to_string(arguments.positional.size());
      if (i < parameters_.size()) found.hint = "options are given by name: { " + parameters_[i].name + " = … }";
      return found;
    }
    if (!fits(parameters_[i], arguments.positional[i], arguments)) {
      const Given& a = arguments.positional[i];
      found.text = place(i, false) + ": expected " + expected(parameters_[i]) + ", found " + arguments.text(a);
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
      found.text = place(i, true) + ": expected " + expected(*known) + ", found " + arguments.text(value);
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
      .hint("lab.scope releases all that its function made and does not return");
}

const Overload& Operator::choose(const OperatorArguments& arguments) const {
  if (arguments.released) throw released(arguments).in("lab.ops." + name_);
  for (const Overload& overload : overloads_) {
    if (overload.takes(arguments)) return overload;
  }
  Overload::Misfit best;
  best.fitting = -1;
  for (const Overload& overload : overloads_) {
    Overload::Misfit misfit = overload.misfit(arguments);
    if (misfit.fitting > best.fitting) best = std::move(misfit);
  }
  Error error = recipe_error(best.text).in("lab.ops." + name_);
  if (!best.hint.empty()) {
    error.hint(best.hint);
  } else if (overloads_.size() > 1) {
    std::string forms = "its forms are";
    for (const Overload& overload : overloads_) forms += "\n    " + overload.text();
    error.hint(forms);
  }
  throw error;
}

void Overload::call(const OperatorArguments& arguments, Stream& random, torch::jit::Stack& results) const {
  results.clear();
  const bool trailing = takes_trailing(arguments);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& p = parameters_[i];
    if (trailing && static_cast<int>(i) == trailing_) {
      results.push_back(list_value(Takes::integers, std::span(arguments.positional).subspan(i)));
    } else if (const Given* a = given(arguments, i)) {
      results.push_back(converted(p, *a, arguments, numbers_are_floats_));
    } else {
      results.push_back(p.fallback);
    }
  }
  if (dropout_ >= 0 && results[static_cast<std::size_t>(dropout_)].toDouble() > 0 &&
      (training_ < 0 || results[static_cast<std::size_t>(training_)].toBool())) {
    results.clear();
    throw recipe_error("'" + parameters_[static_cast<std::size_t>(dropout_)].name +
                       "' must be 0: what it drops would come from a generator that no seed governs")
        .hint("lab.ops.dropout drops by the recipe's seed");
  }
  if (draws()) {
    const Given* given_seed = seed(arguments);
    const Key key =
        given_seed ? Key(static_cast<std::uint64_t>(integer(*given_seed))).fold("tensor") : Key(random.next_u64());
    if (own_) {
      own_(results, key);
      return;
    }
    results[static_cast<std::size_t>(generator_)] = keyed_generator(key);
  }
  handle_.callBoxed(results);
  if (undefined_memory_) results[0].toTensor().zero_();
}

Error Operator::explain(const Overload& overload, const OperatorArguments& arguments, const c10::Error& error) const {
  Error plain = torch_error(error);
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
  else
    explained.hint(plain.hint());
  return explained;
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

}  // namespace trainlab
