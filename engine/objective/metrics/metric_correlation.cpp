// Correlation of outputs and targets: Pearson's, and Spearman's of their ranks. Exact: all values of the part are kept.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/concat.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "objective/head.h"
#include "objective/metric.h"
#include "objective/metrics.h"

namespace trainlab {

namespace {

using Values = std::vector<double>;

double pearson(const Values& a, const Values& b) {
  const auto mean = [](const Values& x) {
    return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  };
  const double mean_a = mean(a), mean_b = mean(b);
  double both = 0, square_a = 0, square_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - mean_a) * (b[i] - mean_b);
    square_a += (a[i] - mean_a) * (a[i] - mean_a);
    square_b += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return both / (std::sqrt(square_a) * std::sqrt(square_b));  // 0/0: NaN, of values that are all equal
}

// Ranks from 0; equal values share the mean of theirs.
Values ranks(const Values& x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return x[i] < x[j]; });
  Values result(x.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && x[order[end]] == x[order[i]]) ++end;
    for (std::size_t j = i; j < end; ++j) result[order[j]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return result;
}

class Correlation final : public Metric {
 public:
  Correlation(const Head& head, std::int64_t members, bool ranked)
      : target_column_(head.target_column), slots_(slots(members)), ranked_(ranked) {}

  void update(const at::Tensor& out, const BatchView& batch) override {
    const at::NoGradGuard no_grad;
    const at::Tensor wide = out.detach().to(at::kDouble);
    const auto rows = [&](const at::Tensor& x) { return x.reshape({slots_, batch.size, -1}).clone(); };
    out_.push_back(rows(wide));
    target_.push_back(rows(target_like(wide, batch.columns[target_column_])));
  }
  std::vector<double> compute() const override {
    std::vector<double> values(static_cast<std::size_t>(slots_), no_value);
    if (out_.empty()) return values;
    const auto by_output = [](const std::vector<at::Tensor>& kept) {
      return at::concat(kept, 1).transpose(1, 2).cpu().contiguous();  // [S, outputs, N]
    };
    const at::Tensor out = by_output(out_), target = by_output(target_);
    const std::int64_t outputs = out.size(1), n = out.size(2);
    const auto column = [n](const at::Tensor& x, std::int64_t i) {
      const double* first = x.const_data_ptr<double>() + i * n;
      return Values(first, first + n);
    };
    for (std::int64_t m = 0; m < slots_; ++m) {
      double sum = 0;
      for (std::int64_t k = m * outputs; k < (m + 1) * outputs; ++k) sum += of(column(out, k), column(target, k));
      values[static_cast<std::size_t>(m)] = sum / static_cast<double>(outputs);
    }
    return values;
  }
  void reset() override {
    out_.clear();
    target_.clear();
  }

 private:
  double of(const Values& a, const Values& b) const {
    const auto unordered = [](const Values& x) {
      return std::any_of(x.begin(), x.end(), [](double v) { return std::isnan(v); });
    };
    if (unordered(a) || unordered(b)) return std::numeric_limits<double>::quiet_NaN();
    return ranked_ ? pearson(ranks(a), ranks(b)) : pearson(a, b);
  }

  std::size_t target_column_;
  std::int64_t slots_;
  bool ranked_;
  std::vector<at::Tensor> out_, target_;  // float64 [S, B, outputs]
};

void add(Registry& registry, const std::string& name, const std::string& doc, const std::string& note, bool ranked) {
  add_metric(registry, Entry("metric." + name, "metric", doc).example("metric." + name + "()").note(note),
             MetricKind{.make = [ranked](const Options& options, const Head& head,
                                         std::int64_t members) -> std::unique_ptr<Metric> {
                          require_regression(options, head);
                          return std::make_unique<Correlation>(head, members, ranked);
                        },
                        .name = [name](const Options&) { return name; },
                        .minimize = false,
                        .at_most_one = true});
}

}  // namespace

void register_metric_correlation(Registry& registry) {
  add(registry, "pearson", "Pearson's correlation of predictions and targets.",
      "Computed for each output and averaged evenly; NaN where all predictions or all targets are equal. Equals "
      "scipy.stats.pearsonr. "
      "Keeps the values of the whole part.",
      false);
  add(registry, "spearman", "Spearman's correlation: Pearson's of the ranks.",
      "Equal values share the mean of their ranks. Computed for each output and averaged evenly. Equals "
      "scipy.stats.spearmanr. Keeps "
      "the values of the whole part.",
      true);
}

}  // namespace trainlab
