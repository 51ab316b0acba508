#include "softmax_costs.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "core/clones.h"
#include "tensor/own_node.h"

namespace trainlab {
namespace {

// Scores that are worked on at a time, which stay in the nearest cache.
constexpr std::int64_t block = 2048;

// e^x for x ≤ 0, to about one unit in the last place; 0 below the smallest normal result; NaN for NaN. x = n·ln 2 + r
// with |r| ≤ ln 2 / 2, and a polynomial for e^r: Cephes, expf.c (Moshier 1992). No branches, so that the compiler
// computes several at once.
inline float exp_of(float x) {
  constexpr float lowest = -87.33654F, to_whole = 12582912.F;  // 1.5·2^23: sums with it have no digits after the point
  const float kept = x < lowest ? lowest : x;
  const float whole = kept * 1.44269504F + to_whole;
  const float n = whole - to_whole;
  const float r = (kept - n * 0.693359375F) - n * -2.12194440e-4F;
  float y = 1.9875691500e-4F;
  y = y * r + 1.3981999507e-3F;
  y = y * r + 8.3334519073e-3F;
  y = y * r + 4.1665795894e-2F;
  y = y * r + 1.6666665459e-1F;
  y = y * r + 5.0000001201e-1F;
  y = y * r * r + r + 1.F;
  // The digits of n stand at the end of `whole`. (A conversion of n to an integer is undefined for NaN.)
  const std::uint32_t digits = std::bit_cast<std::uint32_t>(whole) - std::bit_cast<std::uint32_t>(to_whole);
  const auto power = std::bit_cast<float>((digits + 127U) << 23);
  return x < lowest ? 0.F : y * power;
}

// The greatest score of a row, and the logarithm of Σ exp(score − greatest).
struct Norm {
  float greatest, log_sum;
};

// Gives e^(x[r][c] − greatest − log_sum) of each row r: with log_sum = 0 the terms of the sum, else the probabilities.
inline void exponentials(const float* x, const Norm* norms, std::int64_t rows, std::int64_t classes, float* to) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const Norm norm = norms[r];
    for (std::int64_t c = 0; c < classes; ++c)
      to[r * classes + c] = (x[r * classes + c] - norm.greatest) - norm.log_sum;
  }
  for (std::int64_t i = 0; i < rows * classes; ++i) to[i] = exp_of(to[i]);
}

inline float greatest_of(const float* x, std::int64_t n) {
  float greatest = x[0];
  for (std::int64_t i = 1; i < n; ++i) greatest = x[i] > greatest ? x[i] : greatest;
  return greatest;
}

// In four parts, because each sum has to wait for the one before it.
inline float sum_of(const float* x, std::int64_t n) {
  std::array<double, 4> sums{};
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (std::int64_t k = 0; k < 4; ++k) sums[static_cast<std::size_t>(k)] += static_cast<double>(x[i + k]);
  }
  for (; i < n; ++i) sums[0] += static_cast<double>(x[i]);
  return static_cast<float>((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

TRAINLAB_CLONES void costs_of(const float* x, const std::int64_t* labels, std::int64_t ignored, std::int64_t rows,
                              std::int64_t classes, float* buffer, Norm* norms, float* costs) {
  for (std::int64_t r = 0; r < rows; ++r) norms[r] = {greatest_of(x + r * classes, classes), 0};
  exponentials(x, norms, rows, classes, buffer);
  for (std::int64_t r = 0; r < rows; ++r) norms[r].log_sum = std::log(sum_of(buffer + r * classes, classes));
  for (std::int64_t r = 0; r < rows; ++r) {
    costs[r] = labels[r] == ignored ? 0.F : norms[r].log_sum - (x[r * classes + labels[r]] - norms[r].greatest);
  }
}

// gradient[r][c] = upstream[r]·(probability of c − 1 where c is the label), 0 in ignored rows.
TRAINLAB_CLONES void gradient_of(const float* x, const std::int64_t* labels, std::int64_t ignored, const Norm* norms,
                                 const float* upstream, std::int64_t stride, std::int64_t rows, std::int64_t classes,
                                 float* gradient) {
  exponentials(x, norms, rows, classes, gradient);
  for (std::int64_t r = 0; r < rows; ++r) {
    const bool counts = labels[r] != ignored;
    const float factor = counts ? upstream[r * stride] : 0.F;
    float* row = gradient + r * classes;
    if (counts) row[labels[r]] -= 1.F;
    // A row that does not count has no gradient, whatever its scores are.
    for (std::int64_t c = 0; c < classes; ++c) row[c] = counts ? row[c] * factor : 0.F;
  }
}

// Calls work(first row, rows) for blocks of rows, over the threads of LibTorch's operators.
template <class Work>
void for_rows(std::int64_t rows, std::int64_t classes, const Work& work) {
  const std::int64_t at_a_time = std::max<std::int64_t>(block / classes, 1);
  at::parallel_for(0, rows, std::max<std::int64_t>(32768 / classes, 1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; r += at_a_time) work(r, std::min(at_a_time, end - r));
  });
}

void check_labels(const std::int64_t* labels, std::int64_t rows, std::int64_t classes, std::int64_t ignored) {
  for (std::int64_t r = 0; r < rows; ++r) {
    if ((labels[r] < 0 || labels[r] >= classes) && labels[r] != ignored)
      TORCH_CHECK_INDEX(false, "Target ", labels[r], " is out of bounds.");
  }
}

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

at::Tensor costs_and_norms(const at::Tensor& scores, const at::Tensor& labels, std::int64_t ignored,
                           const at::Tensor& norms) {
  const std::int64_t rows = scores.size(0), classes = scores.size(1);
  at::Tensor costs = at::empty({rows}, scores.options());
  if (scores.is_meta()) return costs;
  const auto* x = scores.const_data_ptr<float>();
  const auto* y = labels.const_data_ptr<std::int64_t>();
  check_labels(y, rows, classes, ignored);
  auto* norm = reinterpret_cast<Norm*>(norms.mutable_data_ptr<float>());
  auto* cost = costs.mutable_data_ptr<float>();
  for_rows(rows, classes, [&](std::int64_t r, std::int64_t count) {
    thread_local std::vector<float> buffer;
    buffer.resize(static_cast<std::size_t>(std::max(block, classes)));
    costs_of(x + r * classes, y + r, ignored, count, classes, buffer.data(), norm + r, cost + r);
  });
  return costs;
}

// The backward pass of the costs of all rows, or of their mean.
class SoftmaxCosts final : public torch::autograd::Node {
 public:
  SoftmaxCosts(const at::Tensor& scores, const at::Tensor& labels, const at::Tensor& norms, std::int64_t ignored,
               bool is_mean)
      : scores_(scores, false), labels_(labels, false), norms_(norms, false), ignored_(ignored), is_mean_(is_mean) {}

  std::string name() const override { return "SoftmaxCostsBackward"; }  // in profiles
  variable_list apply(variable_list&& upstream) override {
    const at::Tensor scores = scores_.unpack(), labels = labels_.unpack(), norms = norms_.unpack();
    const std::int64_t rows = scores.size(0), classes = scores.size(1);
    if (scores.is_meta()) return {at::empty_like(scores)};
    // A gradient of the gradient is wanted: by operators that have one.
    if (at::GradMode::is_enabled()) {
      const at::Tensor of_rows = is_mean_ ? upstream[0].div(static_cast<double>(rows)).expand(rows) : upstream[0];
      const at::Tensor counts = labels.ne(ignored_), label = labels.mul(counts).unsqueeze(1);
      const at::Tensor hot = at::zeros_like(scores).scatter_(1, label, 1);
      return {at::softmax(scores, 1).sub(hot).mul(of_rows.mul(counts).unsqueeze(1))};
    }
    at::Tensor gradient = at::empty_like(scores);
    const auto* x = scores.const_data_ptr<float>();
    const auto* y = labels.const_data_ptr<std::int64_t>();
    const auto* norm = reinterpret_cast<const Norm*>(norms.const_data_ptr<float>());
    const auto* factors = upstream[0].const_data_ptr<float>();
    const float of_mean = is_mean_ ? *factors / static_cast<float>(rows) : 0.F;
    if (is_mean_) factors = &of_mean;
    const std::int64_t stride = is_mean_ ? 0 : upstream[0].stride(0);  // also 0 below a sum
    auto* to = gradient.mutable_data_ptr<float>();
    for_rows(rows, classes, [&](std::int64_t r, std::int64_t count) {
      gradient_of(x + r * classes, y + r, ignored_, norm + r, factors + r * stride, stride, count, classes,
                  to + r * classes);
    });
    return {gradient};
  }

  void release_variables() override {
    scores_.reset_data();
    labels_.reset_data();
    norms_.reset_data();
  }

 private:
  SavedVariable scores_, labels_, norms_;
  const std::int64_t ignored_;
  const bool is_mean_;
};

// Not by Tensor::mean(), whose division of one number by another alone takes LibTorch 3 µs: a step of a small model
// feels it.
at::Tensor mean_of(const at::Tensor& costs) {
  if (costs.is_meta()) return at::empty({}, costs.options());
  const std::span<const float> all(costs.const_data_ptr<float>(), static_cast<std::size_t>(costs.numel()));
  at::Tensor mean = at::empty({}, costs.options());
  *mean.mutable_data_ptr<float>() =
      static_cast<float>(std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size()));
  return mean;
}

at::Tensor costs_or_mean(const at::Tensor& given_scores, const at::Tensor& given_labels, std::int64_t ignored,
                         bool is_mean) {
  const at::Tensor scores = given_scores.contiguous(), labels = given_labels.contiguous();
  at::Tensor norms = at::empty({scores.size(0), 2}, scores.options());
  at::Tensor result = costs_and_norms(scores, labels, ignored, norms);
  if (is_mean) result = mean_of(result);
  if (is_differentiated(scores)) add_node<SoftmaxCosts>(result, scores, scores, labels, norms, ignored, is_mean);
  return result;
}

}  // namespace

bool takes_softmax_costs(const at::Tensor& scores, const at::Tensor& labels) {
  // Without values (tensor/dry_run.h), the memory is that of the CPU.
  const bool is_here = (scores.is_cpu() && labels.is_cpu()) || (scores.is_meta() && labels.is_meta());
  return is_here && scores.scalar_type() == at::kFloat && scores.dim() == 2 && scores.size(1) > 0 &&
         labels.scalar_type() == at::kLong && labels.dim() == 1 && labels.size(0) == scores.size(0);
}

at::Tensor softmax_costs(const at::Tensor& scores, const at::Tensor& labels, std::int64_t ignored) {
  return costs_or_mean(scores, labels, ignored, false);
}

at::Tensor mean_softmax_cost(const at::Tensor& scores, const at::Tensor& labels, std::int64_t ignored) {
  return costs_or_mean(scores, labels, ignored, true);
}

}  // namespace trainlab
