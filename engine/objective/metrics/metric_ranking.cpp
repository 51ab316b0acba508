// How well scores rank: area under the ROC curve, average precision. Exact: all scores of the part are kept.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/concat.h>
#include <ATen/ops/log_softmax.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "class_scores.h"
#include "objective/metric.h"
#include "objective/metrics.h"

namespace trainlab {

namespace {

struct Scored {
  double score;
  bool positive;
};

// Descending by score.
void sort(std::vector<Scored>& samples) {
  std::stable_sort(samples.begin(), samples.end(), [](const Scored& a, const Scored& b) { return a.score > b.score; });
}

// The first sample behind those with the score of sample i.
std::size_t end_of_ties(const std::vector<Scored>& sorted, std::size_t i) {
  const double score = sorted[i].score;
  while (i < sorted.size() && sorted[i].score == score) ++i;
  return i;
}

// Share of pairs of a positive and a negative that are in order; equal scores count half.
double roc_area(const std::vector<Scored>& sorted) {
  double positives = 0, negatives = 0, pairs = 0;
  for (std::size_t i = 0; i < sorted.size();) {
    const std::size_t end = end_of_ties(sorted, i);
    double p = 0;
    for (std::size_t j = i; j < end; ++j) p += sorted[j].positive ? 1 : 0;
    const double n = static_cast<double>(end - i) - p;
    pairs += n * (positives + p / 2);
    positives += p;
    negatives += n;
    i = end;
  }
  return pairs / (positives * negatives);
}

// Σ (Rₙ − Rₙ₋₁) Pₙ over the distinct thresholds, from the highest.
double average_precision(const std::vector<Scored>& sorted) {
  double positives = 0, sum = 0;
  for (std::size_t i = 0; i < sorted.size();) {
    const std::size_t end = end_of_ties(sorted, i);
    double p = 0;
    for (std::size_t j = i; j < end; ++j) p += sorted[j].positive ? 1 : 0;
    positives += p;
    sum += p * positives / static_cast<double>(end);
    i = end;
  }
  return sum / positives;
}

class Ranking final : public Metric {
 public:
  Ranking(const Options& options, const Head& head, std::int64_t members, double (*area)(const std::vector<Scored>&),
          bool needs_negatives)
      : scores_(options, head, ClassScores::Single::allowed),
        slots_(slots(members)),
        area_(area),
        needs_negatives_(needs_negatives) {}

  void update(const at::Tensor& out, const BatchView& batch) override {
    const at::NoGradGuard no_grad;
    const ClassScores::Rows rows = scores_.rows(out, batch);
    kept_scores_.push_back(ranked(rows.scores.to(at::kDouble)));
    at::Tensor labels = rows.labels;
    if (rows.valid.defined()) labels = labels.masked_fill(rows.valid.logical_not(), -1);
    kept_labels_.push_back(labels.contiguous());
  }
  std::vector<double> compute() const override {
    std::vector<double> values(static_cast<std::size_t>(slots_), std::numeric_limits<double>::quiet_NaN());
    if (kept_labels_.empty()) return values;
    const at::Tensor scores = at::concat(kept_scores_, 1).cpu(), labels = at::concat(kept_labels_, 1).cpu();
    for (std::int64_t m = 0; m < slots_; ++m) {
      values[static_cast<std::size_t>(m)] = of_member(scores.select(0, m), labels.select(0, m));
    }
    return values;
  }
  void reset() override {
    kept_scores_.clear();
    kept_labels_.clear();
  }

 private:
  // Scores to rank by, [S, N, 1] of two classes or [S, N, C]: log-probabilities, which order samples as probabilities
  // do but never meet at 1. A clone: what a batch lies in is used again.
  at::Tensor ranked(const at::Tensor& scores) const {
    if (scores.size(-1) == 1) return scores.clone();
    if (scores.size(-1) == 2) return scores.narrow(-1, 1, 1).sub(scores.narrow(-1, 0, 1));
    return at::log_softmax(scores, -1);
  }

  // scores: [N, K], labels: [N].
  double of_member(const at::Tensor& scores, const at::Tensor& labels) const {
    const at::Tensor by_class = scores.t().contiguous();
    const at::Tensor flat_labels = labels.contiguous();
    const auto n = static_cast<std::size_t>(flat_labels.numel());
    const std::int64_t* label = flat_labels.const_data_ptr<std::int64_t>();
    const std::int64_t tasks = by_class.size(0);
    double sum = 0, count = 0;
    for (std::int64_t k = 0; k < tasks; ++k) {
      const std::int64_t positive = tasks == 1 ? 1 : k;
      const double* score = by_class.const_data_ptr<double>() + static_cast<std::size_t>(k) * n;
      std::vector<Scored> samples;
      samples.reserve(n);
      std::size_t positives = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (label[i] < 0) continue;
        if (std::isnan(score[i])) return std::numeric_limits<double>::quiet_NaN();
        samples.push_back({score[i], label[i] == positive});
        positives += label[i] == positive ? 1 : 0;
      }
      if (positives == 0 || (needs_negatives_ && positives == samples.size())) continue;
      sort(samples);
      sum += area_(samples);
      count += 1;
    }
    return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
  }

  ClassScores scores_;
  std::int64_t slots_;
  double (*area_)(const std::vector<Scored>&);
  bool needs_negatives_;
  std::vector<at::Tensor> kept_scores_, kept_labels_;  // [S, B, K] float64, [S, B] int64 with −1 for ignored
};

void add(Registry& registry, const std::string& name, const std::string& doc, const std::string& note,
         double (*area)(const std::vector<Scored>&), bool needs_negatives) {
  add_metric(
      registry,
      Entry("metric." + name, "metric", doc).with(ignore_index_option()).example("metric." + name + "()").note(note),
      MetricKind{.make = [area, needs_negatives](const Options& options, const Head& head,
                                                 std::int64_t members) -> std::unique_ptr<Metric> {
                   return std::make_unique<Ranking>(options, head, members, area, needs_negatives);
                 },
                 .name = [name](const Options&) { return name; },
                 .minimize = false,
                 .at_most_one = true});
}

}  // namespace

void register_metric_ranking(Registry& registry) {
  add(registry, "auc", "Area under the ROC curve.",
      "The chance that a sample of the class scores higher than one of another class; equal scores count half. With "
      "two classes this is the area of class 1; with more classes the mean area of each class against the rest, ranked "
      "by probability. A class to which no sample or every sample of the part belongs is left out. Equals "
      "scikit-learn's roc_auc_score (multi_class=\"ovr\"). "
      "Keeps the scores of the whole part.",
      roc_area, true);
  add(registry, "average_precision", "Area under the curve of precision over recall, as a sum over its steps.",
      "Σ (Rₙ − Rₙ₋₁) Pₙ over the distinct scores. With two classes this is the value of class 1; with more classes the "
      "mean over the classes that occur, each against the rest. Equals scikit-learn's average_precision_score. Keeps "
      "the scores of the whole "
      "part.",
      average_precision, false);
}

}  // namespace trainlab
