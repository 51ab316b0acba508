#include "journal/logged.h"

#include "core/error.h"
#include "tensor/types.h"

namespace trainlab {

Logged logged_tensor(const at::Tensor& tensor, const std::string& name) {
  if (tensor.numel() == 1) return tensor.detach();
  throw recipe_error("expected a number or a tensor of one element, found shape " + shape_text(tensor.sizes()))
      .in(name);
}

double number_of(const Logged& logged) {
  if (const auto* number = std::get_if<double>(&logged)) return *number;
  return std::get<at::Tensor>(logged).to(at::kDouble).item<double>();
}

}  // namespace trainlab
