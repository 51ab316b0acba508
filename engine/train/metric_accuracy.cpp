// Share of samples whose label is the best score, or among the k best.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include <limits>

#include "head.h"
#include "metrics.h"
#include "train/metric.h"

namespace trainlab {

namespace {

// Counts samples that are right; what is right is the derived class's business.
class ShareOfRight : public Metric {
 public:
  ShareOfRight(Head head, std::int64_t members)
      : head_(std::move(head)),
        right_(at::zeros({slots(members)}, at::TensorOptions().dtype(at::kLong).device(head_.device))) {}

  void update(const at::Tensor& out, const at::Tensor& target) override {
    const at::NoGradGuard no_grad;
    const at::Tensor right = is_right(out, labels_of(target, head_));
    right_.add_(right.sum(-1));
    samples_ += right.size(-1);
  }
  std::vector<double> compute() const override {
    std::vector<double> values = read_doubles(right_);
    for (double& value : values)
      value = samples_ > 0 ? value / static_cast<double>(samples_) : std::numeric_limits<double>::quiet_NaN();
    return values;
  }
  void reset() override {
    right_.zero_();
    samples_ = 0;
  }

 protected:
  const Head& head() const { return head_; }

 private:
  // out: [B, …] or [M, B, …], labels: int64 [B] or [M, B] → boolean [B] or [M, B].
  virtual at::Tensor is_right(const at::Tensor& out, const at::Tensor& labels) const = 0;

  Head head_;
  at::Tensor right_;  // int64, a count per member
  std::int64_t samples_ = 0;
};

class Accuracy final : public ShareOfRight {
 public:
  using ShareOfRight::ShareOfRight;

 private:
  at::Tensor is_right(const at::Tensor& out, const at::Tensor& labels) const override {
    return predictions_of(out, head()).eq(labels);
  }
};

class TopK final : public ShareOfRight {
 public:
  TopK(Head head, std::int64_t members, std::int64_t k)
      : ShareOfRight(std::move(head), members),
        k_(k),
        classes_(at::arange(this->head().output[0], at::TensorOptions().dtype(at::kLong).device(this->head().device))) {
  }

 private:
  // A score is behind the label's when it is smaller, or equal and of a class not before it; the label itself is among
  // them. A NaN is behind nothing, and with a NaN at the label nothing is behind it: then the sample is wrong.
  at::Tensor is_right(const at::Tensor& out, const at::Tensor& labels) const override {
    const at::Tensor label =
        (labels.dim() + 1 == out.dim() ? labels : labels.expand(out.sizes().slice(0, 2))).unsqueeze(-1);
    const at::Tensor score = out.gather(-1, label);
    const at::Tensor behind = out.lt(score).logical_or_(out.eq(score).logical_and_(classes_.ge(label)));
    return behind.sum(-1).gt(classes_.size(0) - k_);
  }

  std::int64_t k_;
  at::Tensor classes_;  // 0, 1, …
};

}  // namespace

void register_accuracy(Registry& registry) {
  registry.add(
      Entry("metric.accuracy", "metric", "Share of samples whose best score is that of the label.")
          .example("metric.accuracy()")
          .note("Of equal scores the first counts as the best. With one logit per sample (loss \"bce_with_logits\") a "
                "sample is right when the logit is above 0 "
                "and the target 1 (above 0.5), or neither. Equals scikit-learn's accuracy_score."),
      MetricKind{.make = [](const Options& options, const Head& head, std::int64_t members) -> std::unique_ptr<Metric> {
                   require_classification(options, head);
                   return std::make_unique<Accuracy>(head, members);
                 },
                 .name = [](const Options&) { return std::string("accuracy"); },
                 .minimize = false});
  registry.add(
      Entry("metric.top_k", "metric", "Share of samples whose label is among the k best scores; named top_5 for k = 5.")
          .with(Option("k", "number of guesses").integer().at_least(1).or_default(5).positional())
          .example("metric.top_k(5)")
          .note("Of equal scores the one of the smaller class number is the better. Equals scikit-learn's "
                "top_k_accuracy_score where no scores are equal."),
      MetricKind{.make = [](const Options& options, const Head& head, std::int64_t members) -> std::unique_ptr<Metric> {
                   require_class_scores(options, head);
                   const std::int64_t k = options.integer("k");
                   if (k > head.output[0]) {
                     throw options.error("k", "expected at most the number of classes, " +
                                                  std::to_string(head.output[0]) + ", found " + std::to_string(k));
                   }
                   return std::make_unique<TopK>(head, members, k);
                 },
                 .name = [](const Options& options) { return "top_" + std::to_string(options.integer("k")); },
                 .minimize = false});
}

}  // namespace trainlab
