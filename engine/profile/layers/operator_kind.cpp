#include "operator_kind.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/callable.h"

namespace trainlab {
namespace {

using Inputs = c10::ArrayRef<const c10::IValue>;

double size_of(const at::Tensor& tensor) { return static_cast<double>(tensor.numel()); }
double size_of(const at::Tensor& tensor, std::int64_t axis) { return static_cast<double>(tensor.size(axis)); }

// The product whose left factor is argument `left`: each value of the result is a sum over the factor's last axis.
template <std::size_t left>
Products matrix(Inputs inputs) {
  return {.per_output_value = 2 * size_of(inputs[left].toTensor(), -1)};
}

Products dot(Inputs inputs) { return {.fixed = 2 * size_of(inputs[0].toTensor())}; }

// The kernel is applied at each place of the output, or of the input where the convolution is transposed.
Products convolution(Inputs inputs) {
  const at::Tensor& weight = inputs[1].toTensor();
  const double kernel = 2 * size_of(weight) / size_of(weight, 0);
  if (inputs[6].toBool()) return {.fixed = kernel * size_of(inputs[0].toTensor())};
  return {.per_output_value = kernel};
}

Products convolution_backward(Inputs inputs) {
  const at::Tensor &places = inputs[inputs[7].toBool() ? 1 : 0].toTensor(), &weight = inputs[2].toTensor();
  const auto wanted = inputs.back().toBoolList();
  const double once = 2 * size_of(places) / size_of(weight, 0) * size_of(weight);
  return {.fixed = once * ((wanted[0] ? 1 : 0) + (wanted[1] ? 1 : 0))};
}

// The forward pass has two products, queries with keys and scores with values. The backward pass computes the scores
// again and has four products for the gradients.
template <std::size_t queries, int products>
Products attention(Inputs inputs) {
  return {.fixed = products * 2 * size_of(inputs[queries].toTensor()) * size_of(inputs[queries + 1].toTensor(), 2)};
}

// For each position and sample, the input and the state are multiplied by their weights. The backward pass computes the
// gradients of both factors.
template <int times>
Products recurrent(Inputs inputs) {
  const at::Tensor& x = inputs[0].toTensor();  // [positions, samples, features]
  const double weights = size_of(inputs[1].toTensor()) + size_of(inputs[2].toTensor());
  return {.fixed = times * 2 * size_of(x, 0) * size_of(x, 1) * weights};
}

constexpr std::array<std::pair<std::string_view, Products (*)(Inputs)>, 16> with_products{{
    {"aten::mm", matrix<0>},
    {"aten::bmm", matrix<0>},
    {"aten::mv", matrix<0>},
    {"aten::addmm", matrix<1>},
    {"aten::_addmm_activation", matrix<1>},
    {"aten::baddbmm", matrix<1>},
    {"aten::addmv", matrix<1>},
    {"aten::dot", dot},
    {"aten::convolution", convolution},
    {"aten::convolution_overrideable", convolution},
    {"aten::convolution_backward", convolution_backward},
    {"aten::convolution_backward_overrideable", convolution_backward},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", attention<0, 2>},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", attention<1, 5>},
    {"aten::mkldnn_rnn_layer", recurrent<1>},
    {"aten::mkldnn_rnn_layer_backward", recurrent<2>},
}};

// Operators that write all of their first argument and read none of it.
constexpr std::array<std::string_view, 8> only_write{"aten::copy_",   "aten::fill_",       "aten::zero_",
                                                     "aten::normal_", "aten::uniform_",    "aten::bernoulli_",
                                                     "aten::random_", "aten::exponential_"};

bool gives_unspecified(std::string_view name) {
  return name.starts_with("aten::empty") || name.starts_with("aten::new_empty") || name == "aten::resize_" ||
         name == "aten::set_";
}

double bytes_of(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) return 0;
  return static_cast<double>(std::min(tensor.nbytes(), tensor.storage().nbytes()));
}

}  // namespace

std::optional<OperatorKind> operator_kind(const at::RecordFunction& function) {
  const std::optional<c10::FunctionSchema> schema = function.operator_schema();
  if (!schema) return {};
  OperatorKind kind;
  const std::string_view name = schema->name();
  const auto products = std::ranges::find(with_products, name, [](const auto& one) { return one.first; });
  if (products != with_products.end()) kind.products = products->second;
  // Arguments that are passed by name only, such as `out`, are written and not read.
  const auto& arguments = schema->arguments();
  for (std::size_t i = 0; i < std::min<std::size_t>(arguments.size(), 64); ++i) {
    const c10::AliasInfo* alias = arguments[i].alias_info();
    if (!alias || !alias->isWrite()) continue;
    if (arguments[i].kwarg_only()) kind.reads &= ~(std::uint64_t{1} << i);
    if (schema->returns().empty()) kind.writes |= std::uint64_t{1} << i;
  }
  if (std::ranges::find(only_write, name) != only_write.end()) kind.reads &= ~std::uint64_t{1};
  const auto is_view = [](const c10::Argument& returned) {
    return returned.alias_info() && !returned.alias_info()->isWrite();
  };
  kind.moves = !gives_unspecified(name) && std::ranges::none_of(schema->returns(), is_view);
  return kind;
}

double tensor_bytes(Inputs values, std::uint64_t which) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i >= 64 || !(which >> i & 1)) continue;
    if (values[i].isTensor()) {
      sum += bytes_of(values[i].toTensor());
    } else if (values[i].isList()) {
      for (const c10::IValue& one : values[i].toListRef())
        if (one.isTensor()) sum += bytes_of(one.toTensor());
    }
  }
  return sum;
}

}  // namespace trainlab
