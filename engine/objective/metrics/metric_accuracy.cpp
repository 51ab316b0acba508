// Share of samples whose label is the best score, or among the k best.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <limits>

#include "class_scores.h"
#include "objective/metric.h"
#include "objective/metrics.h"

namespace trainlab {

namespace {

// Counts right positions; the derived class decides which are right.
class ShareOfRight : public Metric {
 public:
  ShareOfRight(const Options& options, const Head& head, ClassScores::Single single, std::int64_t members)
      : scores_(options, head, single),
        right_(at::zeros({slots(members)}, at::TensorOptions().dtype(at::kLong).device(head.device))),
        valid_(at::zeros_like(right_)) {}

  void update(const at::Tensor& out, const BatchView& batch) override {
    const at::NoGradGuard no_grad;
    const ClassScores::Rows rows = scores_.rows(out, batch);
    const at::Tensor right = is_right(rows);
    if (rows.valid.defined()) {
      right_.add_(right.logical_and(rows.valid).sum(-1));
      valid_.add_(rows.valid.sum(-1));
    } else {
      right_.add_(right.sum(-1));
      counted_ += right.size(-1);
    }
  }
  std::vector<double> compute() const override {
    std::vector<double> values = read_doubles(right_);
    const std::vector<double> valid = read_doubles(valid_);
    for (std::size_t m = 0; m < values.size(); ++m) {
      const double all = valid[m] + static_cast<double>(counted_);
      values[m] = all > 0 ? values[m] / all : std::numeric_limits<double>::quiet_NaN();
    }
    return values;
  }
  void reset() override {
    right_.zero_();
    valid_.zero_();
    counted_ = 0;
  }

 protected:
  const ClassScores& scores() const { return scores_; }

 private:
  // boolean [S, N].
  virtual at::Tensor is_right(const ClassScores::Rows& rows) const = 0;

  ClassScores scores_;
  at::Tensor right_, valid_;  // int64, a count per member
  std::int64_t counted_ = 0;
};

class Accuracy final : public ShareOfRight {
 public:
  Accuracy(const Options& options, const Head& head, std::int64_t members)
      : ShareOfRight(options, head, ClassScores::Single::allowed, members) {}

 private:
  at::Tensor is_right(const ClassScores::Rows& rows) const override { return rows.guesses().eq(rows.labels); }
};

class TopK final : public ShareOfRight {
 public:
  TopK(const Options& options, const Head& head, std::int64_t members)
      : ShareOfRight(options, head, ClassScores::Single::refused, members),
        k_(options.integer("k")),
        classes_(at::arange(scores().classes(), at::TensorOptions().dtype(at::kLong).device(head.device))) {
    if (k_ > scores().classes()) {
      throw options.error("k", "expected at most the number of classes, " + std::to_string(scores().classes()) +
                                   ", found " + std::to_string(k_));
    }
  }

 private:
  // A score is behind the label's when it is smaller, or equal and of a class not before it; the label itself is among
  // them. A NaN is behind nothing, and with a NaN at the label nothing is behind it: then the sample is wrong.
  at::Tensor is_right(const ClassScores::Rows& rows) const override {
    const at::Tensor label = rows.labels.unsqueeze(-1);
    const at::Tensor score = rows.scores.gather(-1, label);
    const at::Tensor behind = rows.scores.lt(score).logical_or_(rows.scores.eq(score).logical_and_(classes_.ge(label)));
    return behind.sum(-1).gt(classes_.size(0) - k_);
  }

  std::int64_t k_;
  at::Tensor classes_;  // 0, 1, …
};

}  // namespace

void register_metric_accuracy(Registry& registry) {
  add_metric(
      registry,
      Entry("metric.accuracy", "metric", "Share of samples (or positions) whose best score is that of the label.")
          .with(ignore_index_option())
          .example("metric.accuracy()")
          .note("Among equal scores, the score of the smallest class number counts as the best. With one logit per "
                "sample "
                "(loss \"bce_with_logits\") a "
                "sample is right when the logit is above 0 "
                "and the target 1 (above 0.5), or neither. Equals scikit-learn's accuracy_score."),
      MetricKind{.make = [](const Options& options, const Head& head, std::int64_t members) -> std::unique_ptr<Metric> {
                   return std::make_unique<Accuracy>(options, head, members);
                 },
                 .name = [](const Options&) { return std::string("accuracy"); },
                 .minimize = false,
                 .at_most_one = true});
  add_metric(
      registry,
      Entry("metric.top_k", "metric", "Share of samples whose label is among the k best scores; named top_5 for k = 5.")
          .with(Option("k", "number of best scores that count as guesses")
                    .integer()
                    .at_least(1)
                    .or_default(5)
                    .positional())
          .with(ignore_index_option())
          .example("metric.top_k(5)")
          .note("Among equal scores, the score of the smaller class number counts as better. Equals scikit-learn's "
                "top_k_accuracy_score where no scores are equal."),
      MetricKind{.make = [](const Options& options, const Head& head, std::int64_t members) -> std::unique_ptr<Metric> {
                   return std::make_unique<TopK>(options, head, members);
                 },
                 .name = [](const Options& options) { return "top_" + std::to_string(options.integer("k")); },
                 .minimize = false,
                 .at_most_one = true});
}

}  // namespace trainlab
