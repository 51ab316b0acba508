// Metrics of predicted probabilities, summed in float64: log loss, perplexity, bits per character, calibration error.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "class_scores.h"
#include "objective/metric.h"
#include "objective/metrics.h"

namespace trainlab {

namespace {

// float64 [S, N]: 1 where a position counts.
at::Tensor counts_of(const ClassScores::Rows& rows) {
  const at::Tensor counts = at::zeros_like(rows.labels, at::TensorOptions().dtype(at::kDouble)).add_(1);
  return rows.valid.defined() ? counts.mul_(rows.valid) : counts;
}

class LogLoss final : public Metric {
 public:
  LogLoss(const Options& options, const Head& head, std::int64_t members, double (*finish)(double))
      : scores_(options, head, ClassScores::Single::allowed),
        sums_(at::zeros({2, slots(members)}, at::TensorOptions().dtype(at::kDouble).device(head.device))),
        finish_(finish) {}

  void update(const at::Tensor& out, const BatchView& batch) override {
    const at::NoGradGuard no_grad;
    const ClassScores::Rows rows = scores_.rows(out, batch);
    const at::Tensor counts = counts_of(rows);
    const at::Tensor logs = rows.log_probabilities().gather(-1, rows.labels.unsqueeze(-1)).squeeze(-1);
    // An impossible label that is ignored is not 0 · ∞.
    sums_.select(0, 0).sub_(logs.masked_fill(counts.eq(0), 0).sum(-1));
    sums_.select(0, 1).add_(counts.sum(-1));
  }
  std::vector<double> compute() const override {
    const std::vector<double> sums = read_doubles(sums_);
    const std::size_t members = sums.size() / 2;
    std::vector<double> values;
    for (std::size_t m = 0; m < members; ++m) {
      values.push_back(sums[members + m] > 0 ? finish_(sums[m] / sums[members + m]) : no_value);
    }
    return values;
  }
  void reset() override { sums_.zero_(); }

 private:
  ClassScores scores_;
  at::Tensor sums_;  // [2, S]: −Σ log p, positions
  double (*finish_)(double);
};

// Guo et al., "On calibration of modern neural networks" (2017), equation 3.
class CalibrationError final : public Metric {
 public:
  CalibrationError(const Options& options, const Head& head, std::int64_t members)
      : scores_(options, head, ClassScores::Single::allowed),
        bins_(options.integer("bins")),
        slots_(slots(members)),
        sums_(at::zeros({3, slots_ * bins_}, at::TensorOptions().dtype(at::kDouble).device(head.device))),
        first_bin_(
            at::arange(slots_, at::TensorOptions().dtype(at::kLong).device(head.device)).mul_(bins_).unsqueeze_(-1)) {}

  void update(const at::Tensor& out, const BatchView& batch) override {
    const at::NoGradGuard no_grad;
    const ClassScores::Rows rows = scores_.rows(out, batch);
    const at::Tensor counts = counts_of(rows);
    const at::Tensor confidence = rows.log_probabilities().amax(-1).exp().masked_fill(counts.eq(0), 0);
    const at::Tensor right = rows.guesses().eq(rows.labels).to(at::kDouble);
    // A confidence that is not a number goes into the first bin, whose gap, and with it the error, is then none either.
    const at::Tensor place = confidence.nan_to_num(0).mul(static_cast<double>(bins_)).ceil().sub_(1);
    const at::Tensor bin = place.clamp_(0, static_cast<double>(bins_ - 1)).to(at::kLong);
    const at::Tensor slot = bin.add(first_bin_).reshape({-1});
    sums_.select(0, 0).index_add_(0, slot, counts.reshape({-1}));
    sums_.select(0, 1).index_add_(0, slot, right.mul(counts).reshape({-1}));
    sums_.select(0, 2).index_add_(0, slot, confidence.mul(counts).reshape({-1}));
  }
  std::vector<double> compute() const override {
    const std::vector<double> sums = read_doubles(sums_);
    const auto bins = static_cast<std::size_t>(bins_), all = sums.size() / 3;
    std::vector<double> values;
    for (std::size_t first = 0; first < all; first += bins) {
      double gap = 0, count = 0;
      for (std::size_t i = first; i < first + bins; ++i) {
        count += sums[i];
        gap += std::abs(sums[all + i] - sums[2 * all + i]);
      }
      values.push_back(count > 0 ? gap / count : no_value);
    }
    return values;
  }
  void reset() override { sums_.zero_(); }

 private:
  ClassScores scores_;
  std::int64_t bins_, slots_;
  at::Tensor sums_;       // [3, S · bins]: positions, right ones, confidences
  at::Tensor first_bin_;  // [S, 1]: 0, bins, …
};

void add(Registry& registry, const std::string& name, const std::string& doc, const std::string& note,
         double (*finish)(double)) {
  add_metric(
      registry,
      Entry("metric." + name, "metric", doc).with(ignore_index_option()).example("metric." + name + "()").note(note),
      MetricKind{.make = [finish](const Options& options, const Head& head, std::int64_t members)
                     -> std::unique_ptr<Metric> { return std::make_unique<LogLoss>(options, head, members, finish); },
                 .name = [name](const Options&) { return name; },
                 .minimize = true});
}

}  // namespace

void register_metric_probability(Registry& registry) {
  add(registry, "log_loss", "Mean of −log p of the label's probability.",
      "The cross-entropy without smoothing, weights or sample weights. Equals scikit-learn's log_loss of the softmax.",
      [](double x) { return x; });
  add(registry, "perplexity",
      "exp of the mean of −log p of the label: as uncertain as a choice among this many equal options.",
      "The mean is over all positions of the part.", [](double x) { return std::exp(x); });
  add(registry, "bits_per_character", "Mean of −log₂ p of the label: bits for each symbol.",
      "The mean is over all positions of the part. With tokens that are characters these are bits per character.",
      [](double x) { return x / std::numbers::ln2; });
  add_metric(
      registry,
      Entry("metric.ece", "metric", "Expected calibration error: how far confidence is from accuracy.")
          .with(Option("bins", "number of bins of equal width into which confidences are sorted")
                    .integer()
                    .at_least(1)
                    .at_most(10000)
                    .or_default(15))
          .with(ignore_index_option())
          .example("metric.ece { bins = 15 }")
          .note("Σ |accuracy − mean confidence| of each bin, weighted by its samples (Guo et al. 2017); the "
                "confidence is the best class's probability, bins hold their upper ends."),
      MetricKind{.make = [](const Options& options, const Head& head, std::int64_t members) -> std::unique_ptr<Metric> {
                   return std::make_unique<CalibrationError>(options, head, members);
                 },
                 .name = [](const Options&) { return std::string("ece"); },
                 .minimize = true});
}

}  // namespace trainlab
