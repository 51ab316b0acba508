#include "tensor/text.h"

#include <array>
#include <cstdio>

#include "tensor/names.h"
#include "tensor/tensor_object.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

constexpr std::int64_t edge = 3;          // values shown at either end of a long axis
constexpr std::int64_t all_shown = 1000;  // elements up to which nothing is left out
constexpr std::size_t line = 110;

std::string number(double x) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.5g", x);
  return text.data();
}

std::string element(const at::Tensor& value) {
  if (value.scalar_type() == at::kBool) return value.item<bool>() ? "true" : "false";
  if (value.is_complex()) {
    const auto z = value.item<c10::complex<double>>();
    return number(z.real()) + (z.imag() < 0 ? "" : "+") + number(z.imag()) + "i";
  }
  if (at::isIntegralType(value.scalar_type(), false)) return std::to_string(value.item<std::int64_t>());
  return number(value.item<double>());
}

// `indent` columns stand before it.
std::string brackets(const at::Tensor& tensor, bool shorten, std::size_t indent) {
  if (tensor.dim() == 0) return element(tensor);
  const std::int64_t n = tensor.size(0);
  const bool flat = tensor.dim() == 1;
  const std::string next = flat ? ", " : ",\n" + std::string(indent + 1, ' ');
  std::string text = "[";
  std::size_t begun = text.size();
  for (std::int64_t i = 0; i < n; ++i) {
    if (i > 0) {
      text += next;
      if (flat && text.size() - begun + indent > line) {
        text += "\n" + std::string(indent + 1, ' ');
        begun = text.size();
      }
    }
    if (shorten && n > 2 * edge && i == edge) {
      text += "…" + next;
      i = n - edge;
    }
    text += brackets(tensor[i], shorten, indent + 1);
  }
  return text + "]";
}

}  // namespace

std::string tensor_kind(const at::Tensor& tensor) {
  const std::string layout = tensor.layout() == at::kStrided ? "" : layout_name(tensor.layout()) + " ";
  return layout + dtype_name(tensor.scalar_type()) + " " + shape_text(tensor.sizes());
}

std::string tensor_text(const at::Tensor& tensor) {
  std::string kind = tensor_kind(tensor) + " " + tensor.device().str();
  if (tensor.requires_grad()) kind += ", requires grad";
  if (tensor.layout() != at::kStrided) return kind;
  const at::Tensor values = tensor.detach().cpu();
  // A tensor without elements may have long axes all the same.
  const bool shorten = values.numel() > all_shown || values.numel() == 0;
  const std::string text = brackets(values, shorten, 0);
  return text + (tensor.dim() > 1 ? "\n" : " ") + kind;
}

std::string found_text(const Argument& argument) {
  if (const Value* value = std::get_if<Value>(&argument)) return value->brief();
  const auto& object = std::get<std::shared_ptr<Object>>(argument);
  if (!object) return "nil";
  if (const auto* found = dynamic_cast<const TensorObject*>(object.get())) {
    return "a tensor of shape " + shape_text(found->tensor.sizes()) + " (" + dtype_name(found->tensor.scalar_type()) +
           ")";
  }
  return "an object of type " + std::string(object->type_name());
}

}  // namespace trainlab
