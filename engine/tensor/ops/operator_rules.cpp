// Found by calling the operators with odd arguments (tests/torture/operators).
#include "operator_rules.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/isfinite.h>

#include <map>
#include <utility>

namespace trainlab {

namespace {

using Stack = torch::jit::Stack;

bool is_finite(const Stack& arguments, std::size_t place) {
  return at::isfinite(arguments[place].toTensor().detach()).all().item<bool>();
}
bool is_dense(const Stack& arguments, std::size_t place) {
  return arguments[place].toTensor().layout() == at::kStrided;
}
bool is_positive(const Stack& arguments, std::size_t place) { return arguments[place].toInt() >= 1; }
// The pivots are as many as the matrices before them have.
bool has_pivots(const Stack& arguments, std::size_t place) {
  return arguments[place].toTensor().numel() > 0 || arguments[place - 1].toTensor().numel() == 0;
}
// A product of two sparse tensors goes through the indices of both side by side.
bool has_alike_indices(const Stack& arguments, std::size_t place) {
  if (!arguments[place].isTensor()) return true;  // a number
  const at::Tensor& first = arguments[place - 1].toTensor();
  const at::Tensor& second = arguments[place].toTensor();
  return first.layout() != at::kSparse || second.layout() != at::kSparse || first.sparse_dim() == second.sparse_dim();
}

constexpr ArgumentRule finite{"elements that are neither NaN nor infinite", is_finite};
constexpr ArgumentRule dense{"a dense tensor", is_dense};
constexpr ArgumentRule indices{"a sparse tensor with as many sparse dimensions as the first one has",
                               has_alike_indices};
constexpr ArgumentRule positive{"at least 1", is_positive};
constexpr ArgumentRule pivots{"pivots for the matrices", has_pivots};

}  // namespace

const ArgumentRule* argument_rule(std::string_view operator_name, std::string_view parameter) {
  using Place = std::pair<std::string_view, std::string_view>;
  static const std::map<Place, const ArgumentRule*> all{
      {{"linalg_eigvals", "self"}, &finite},
      {{"lu_unpack", "LU_pivots"}, &pivots},
      {{"mul", "other"}, &indices},
      {{"mul_", "other"}, &indices},
      {{"multiply", "other"}, &indices},
      {{"multiply_", "other"}, &indices},
      {{"native_channel_shuffle", "groups"}, &positive},
      {{"native_channel_shuffle", "self"}, &dense},
  };
  const auto found = all.find({operator_name, parameter});
  return found == all.end() ? nullptr : found->second;
}

}  // namespace trainlab
