// Costs of the scores that a linear layer makes, without ever holding the scores of all rows.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace trainlab {

// The costs of rows of scores, [n] of [n, classes]; `first` is the number of the first row.
using RowCosts = std::function<at::Tensor(const at::Tensor& scores, std::int64_t first)>;

// Σ factors_r · cost_r over the rows of x·weightᵀ + bias; 0-dim. x: [rows, features], weight: [classes, features],
// bias: [classes] or undefined, factors: [rows]. The scores are made a few rows at a time, and with them the gradients
// of x, weight and bias, which the backward pass only multiplies: it can be gone through once, and has no gradient of
// its own. (Hsu et al. 2024, "Liger kernel", fused linear cross-entropy; rows at a time by their rule, at least 64.)
// `compute`: the type of the products of matrices, undefined for that of x; costs and sums over the chunks are of the
// type of x.
at::Tensor chunked_costs(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, at::ScalarType compute,
                         const at::Tensor& factors, const RowCosts& costs);

}  // namespace trainlab
