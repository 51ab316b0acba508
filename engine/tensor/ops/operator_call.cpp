// A call of an operator: choosing the overload, converting the arguments.
#include <ATen/ScalarOps.h>
#include <ATen/core/List.h>
#include <ATen/ops/_nnz.h>
#include <ATen/ops/_values.h>
#include <c10/core/Scalar.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/error.h"
#include "operator_arguments.h"
#include "operator_dropout.h"
#include "tensor/device.h"
#include "tensor/names.h"
#include "tensor/no_torch_warnings.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

using Given = OperatorArgument;
using Kind = OperatorArgument::Kind;

// LibTorch takes the distance between the elements of a sparse tensor, each a dense tensor, for their size. Of a single
// element that is a part of a larger tensor the distance is greater, and to_dense() then writes behind the result.
void refuse_apart(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_sparse() || tensor._nnz() != 1) return;
  const at::Tensor values = tensor._values();
  if (values.numel() == 0 || values.stride(0) == values.numel()) return;
  throw recipe_error("the result would be a sparse tensor whose elements are parts of a larger tensor")
      .hint("make the tensor dense before: t:to_dense()");
}

void refuse_apart(const c10::IValue& result) {
  if (result.isTensor()) return refuse_apart(result.toTensor());
  if (!result.isTensorList()) return;
  for (const at::Tensor& tensor : result.toTensorVector()) refuse_apart(tensor);
}

constexpr double largest_float = std::numeric_limits<float>::max();

bool is_integer(const Given& a) { return a.kind == Kind::number && is_whole(a.number); }

std::int64_t reduction_index(std::string_view name) {
  return std::find(reductions.begin(), reductions.end(), name) - reductions.begin();
}

at::Scalar scalar(const Given& a, bool as_float) {
  if (a.kind == Kind::boolean) return a.boolean;
  const bool integer = !as_float && is_whole(a.number) && !(a.number == 0 && std::signbit(a.number));
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

// Kernels read as many elements as the schema says, whatever there are. A length of 1 stands for any number of axes.
bool has_length(const Parameter& p, std::uint32_t count) {
  if (p.count <= 1 || count == static_cast<std::uint32_t>(p.count)) return true;
  return count == 0 && p.fallback.isList() && p.fallback.toListRef().empty();
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

// The device of an operator: the device that an argument names, or that of its first tensor.
at::Device place_of(const torch::jit::Stack& arguments) {
  std::optional<at::Device> first;
  for (const c10::IValue& argument : arguments) {
    if (argument.isDevice()) return argument.toDevice();
    if (!first && argument.isTensor() && argument.toTensor().defined()) first = argument.toTensor().device();
  }
  return first.value_or(at::kCPU);
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

}  // namespace

bool fits(const Parameter& p, const OperatorArgument& a, const OperatorArguments& arguments) {
  switch (a.kind) {
    case Kind::tensor: return p.takes == Takes::tensor;
    case Kind::number:
      switch (p.takes) {
        case Takes::floating:
        case Takes::scalar: return true;
        case Takes::tensor: return p.number_too;
        case Takes::integer: return is_whole(a.number);
        case Takes::reduction: return a.number == 0 || a.number == 1 || a.number == 2;
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
      if (p.takes < Takes::tensors || !has_length(p, a.count)) return false;
      for (std::uint32_t i = 0; i < a.count; ++i) {
        if (!element_fits(p.takes, arguments.elements[a.first + i])) return false;
      }
      return true;
    }
    case Kind::other: return false;
  }
  return false;
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
  // t.to("cuda") in place of t:to("cuda").
  const std::vector<Parameter>& first = overloads_.front().parameters();
  const bool lacks_self = !first.empty() && first.front().name == "self" && !arguments.positional.empty() &&
                          arguments.positional.front().kind != Kind::tensor;
  const std::string colon = lacks_self ? "a method of a tensor is called with a colon, t:" + name_ + "(…)" : "";
  if (!best.hint.empty()) {
    error.hint(best.hint);
  } else if (overloads_.size() == 1) {
    error.hint(colon);
  } else {
    std::string forms = colon + (lacks_self ? "; " : "") + "its forms are";
    for (const Overload& overload : overloads_) forms += "\n    " + overload.text();
    error.hint(forms);
  }
  throw error;
}

void Overload::call(const OperatorArguments& arguments, Stream& random, torch::jit::Stack& results) const {
  results.clear();
  const NoTorchWarnings quiet;
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
  if (has_rules_) check_rules(arguments, results);
  if (dropout_ >= 0 && results[static_cast<std::size_t>(dropout_)].toDouble() > 0 &&
      (training_ < 0 || results[static_cast<std::size_t>(training_)].toBool())) {
    results.clear();
    throw recipe_error("'" + parameters_[static_cast<std::size_t>(dropout_)].name +
                       "' must be 0: what it drops would come from a generator that no seed governs")
        .hint("use lab.ops.dropout, which draws from the recipe's seed");
  }
  std::optional<Key> drawn;
  if (draws()) {
    const Given* given_seed = seed(arguments);
    if (given_seed && (!is_integer(*given_seed) || given_seed->number < 0)) {
      results.clear();
      throw recipe_error("'seed': expected an integer from 0 to 2^53, found " + arguments.text(*given_seed));
    }
    const Key key =
        given_seed ? Key(static_cast<std::uint64_t>(integer(*given_seed))).fold("tensor") : Key(random.next_u64());
    if (own_) {
      own_(results, key);
      return;
    }
    drawn = key;
  }
  if (compact_ >= 0) {
    c10::IValue& tensor = results[static_cast<std::size_t>(compact_)];
    tensor = tensor.toTensor().contiguous();
  }
  // LibTorch's choice, gelsy, begins with pivots that nobody has set, so that equal calls give different bytes.
  if (driver_ >= 0 && results[static_cast<std::size_t>(driver_)].isNone() && results[0].toTensor().is_cpu())
    results[static_cast<std::size_t>(driver_)] = "gelsd";
  if (copies_) {
    for (c10::IValue& value : results) {
      if (value.isTensor()) value = value.toTensor().clone();
    }
  }
  if (keeps_dtype_ && results[2].isNone()) results[2] = results[0].toTensor().scalar_type();
  if (drawn) {
    device_at(place_of(results)).draw(handle_, results, static_cast<std::size_t>(generator_), *drawn);
  } else {
    handle_.callBoxed(results);
    for (const c10::IValue& result : results) refuse_apart(result);
  }
  if (undefined_memory_) results[0].toTensor().zero_();
}

}  // namespace trainlab
