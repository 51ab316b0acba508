// Errors of numbers against numbers, in float64 whatever the model computes in.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <limits>

#include "objective/head.h"
#include "objective/metric.h"
#include "objective/metrics.h"

namespace trainlab {

namespace {

at::TensorOptions doubles_on(const Head& head) { return at::TensorOptions().dtype(at::kDouble).device(head.device); }

// [B, …] or [M, B, …] as float64 [slots, B, values per sample].
at::Tensor as_rows(const at::Tensor& x, std::int64_t members) {
  const at::Tensor wide = x.to(at::kDouble);
  return members == 0 ? wide.reshape({1, wide.size(0), -1}) : wide.reshape({wide.size(0), wide.size(1), -1});
}

// A mean over all values, of |e| or e².
class MeanError final : public Metric {
 public:
  MeanError(const Head& head, std::int64_t members, bool squared)
      : members_(members),
        target_column_(head.target_column),
        squared_(squared),
        sum_(at::zeros({slots(members)}, doubles_on(head))) {}

  void update(const at::Tensor& out, const BatchView& batch) override {
    const at::NoGradGuard no_grad;
    const at::Tensor wide = out.to(at::kDouble);
    const at::Tensor error = as_rows(wide.sub(target_like(wide, batch.columns[target_column_])), members_);
    sum_.add_((squared_ ? error.square() : error.abs()).sum({1, 2}));
    values_ += error.size(1) * error.size(2);
  }
  std::vector<double> compute() const override {
    std::vector<double> values = read_doubles(sum_);
    for (double& value : values) {
      value = values_ > 0 ? value / static_cast<double>(values_) : no_value;
      if (squared_) value = std::sqrt(value);
    }
    return values;
  }
  void reset() override {
    sum_.zero_();
    values_ = 0;
  }

 private:
  std::int64_t members_;
  std::size_t target_column_;
  bool squared_;
  at::Tensor sum_;  // [slots]
  std::int64_t values_ = 0;
};

// R² = 1 − Σ (y − ŷ)² / Σ (y − ȳ)². The second sum runs by Chan, Golub and LeVeque's pairwise update ("Updating
// formulae and a pairwise algorithm for computing sample variances", 1979) on y minus the very first target:
// subtracting two large sums never happens, and constant targets give exactly 0.
class R2 final : public Metric {
 public:
  R2(const Head& head, std::int64_t members)
      : members_(members),
        target_column_(head.target_column),
        outputs_(element_count(head.output)),
        state_(at::zeros({4, slots(members), outputs_}, doubles_on(head))) {
    origin_ = state_.select(0, 0);
    mean_ = state_.select(0, 1);
    spread_ = state_.select(0, 2);
    residual_ = state_.select(0, 3);
  }

  void update(const at::Tensor& out, const BatchView& batch) override {
    const at::NoGradGuard no_grad;
    const at::Tensor wide = out.to(at::kDouble);
    const at::Tensor y = as_rows(target_like(wide, batch.columns[target_column_]), members_);
    const at::Tensor guess = as_rows(wide, members_);
    if (y.size(1) == 0) return;
    if (samples_ == 0) origin_.copy_(y.select(1, 0));
    const at::Tensor from_origin = y.sub(origin_.unsqueeze(1));
    const at::Tensor batch_mean = from_origin.mean(1);
    const auto n = static_cast<double>(samples_), added = static_cast<double>(y.size(1)), total = n + added;
    const at::Tensor shift = batch_mean.sub(mean_);
    spread_.add_(from_origin.sub(batch_mean.unsqueeze(1)).square_().sum(1)).add_(shift.square(), n * added / total);
    mean_.add_(shift, added / total);
    residual_.add_(y.sub(guess).square_().sum(1));
    samples_ += y.size(1);
  }
  std::vector<double> compute() const override {
    const std::vector<double> spread = read_doubles(spread_), residual = read_doubles(residual_);
    const auto outputs = static_cast<std::size_t>(outputs_);
    std::vector<double> values;
    for (std::size_t first = 0; first < spread.size(); first += outputs) {
      double sum = 0;
      for (std::size_t i = first; i < first + outputs; ++i) {
        if (spread[i] == 0)
          sum += residual[i] == 0 ? 1.0 : (std::isnan(residual[i]) ? no_value : 0.0);
        else
          sum += 1 - residual[i] / spread[i];
      }
      values.push_back(samples_ > 1 ? sum / static_cast<double>(outputs_) : no_value);
    }
    return values;
  }
  void reset() override {
    state_.zero_();
    samples_ = 0;
  }

 private:
  std::int64_t members_;
  std::size_t target_column_;
  std::int64_t outputs_;
  at::Tensor state_;                              // [4, slots, outputs]
  at::Tensor origin_, mean_, spread_, residual_;  // its rows: y₀, mean of y − y₀, Σ (y − ȳ)², Σ (y − ŷ)²
  std::int64_t samples_ = 0;
};

template <class F>
MetricKind kind(const char* name, bool minimize, F make) {
  return {.make = [make](const Options& options, const Head& head, std::int64_t members) -> std::unique_ptr<Metric> {
            require_regression(options, head);
            return make(head, members);
          },
          .name = [name](const Options&) { return std::string(name); },
          .minimize = minimize,
          .at_most_one = !minimize};
}

}  // namespace

void register_metric_regression(Registry& registry) {
  add_metric(registry,
             Entry("metric.mae", "metric", "Mean absolute error.")
                 .example("metric.mae()")
                 .note("The mean over samples and outputs of |y − ŷ|. Equals scikit-learn's mean_absolute_error."),
             kind("mae", true, [](const Head& head, std::int64_t members) {
               return std::make_unique<MeanError>(head, members, false);
             }));
  add_metric(
      registry,
      Entry("metric.rmse", "metric", "Root of the mean squared error.")
          .example("metric.rmse()")
          .note("The root of the mean over samples and outputs of (y − ŷ)², which is the root of the loss \"mse\" over "
                "the whole part. Equals torchmetrics' "
                "MeanSquaredError(squared=False); scikit-learn takes the root per output and averages these roots."),
      kind("rmse", true,
           [](const Head& head, std::int64_t members) { return std::make_unique<MeanError>(head, members, true); }));
  add_metric(
      registry,
      Entry("metric.r2", "metric", "Share of the targets' variance that the model explains.")
          .example("metric.r2()")
          .note("1 − Σ (y − ŷ)² / Σ (y − ȳ)² for each output, averaged evenly. Where all targets of an output are "
                "equal: 1 if all predictions are right, else 0. "
                "NaN with fewer than two samples. Equals scikit-learn's r2_score."),
      kind("r2", false, [](const Head& head, std::int64_t members) { return std::make_unique<R2>(head, members); }));
}

}  // namespace trainlab
