// The share of wrong labels, estimated by confident learning. All probabilities of the part are kept.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/concat.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "class_scores.h"
#include "objective/metric.h"
#include "objective/metrics.h"

namespace trainlab {

namespace {

// A probability this little below its threshold reaches it: the threshold is a mean, and rounded.
constexpr double rounding = 1e-6;
constexpr std::int64_t does_not_count = std::numeric_limits<std::int64_t>::min();  // a label that no data has

// The class of which the sample is by the model's word: of the classes whose probability reaches the class's threshold
// the most probable; −1 where none does.
std::ptrdiff_t confident_class(const double* probability, const std::vector<double>& thresholds) {
  std::ptrdiff_t best = -1;
  for (std::size_t k = 0; k < thresholds.size(); ++k) {
    if (!(probability[k] >= thresholds[k] - rounding)) continue;
    if (best < 0 || probability[k] > probability[best]) best = static_cast<std::ptrdiff_t>(k);
  }
  return best;
}

// Northcutt, Jiang and Chuang, "Confident learning" (JAIR 2021), section 3.1: the joint distribution of given and true
// labels from samples of which the model is confident, and of it the part off the diagonal. `probabilities`: [N, K],
// contiguous float64; `label`: N classes, or does_not_count. NaN without samples, and where a
// probability is not a number.
double share_of_wrong_labels(const at::Tensor& probabilities, const std::int64_t* label) {
  const auto n = static_cast<std::size_t>(probabilities.size(0)),
             classes = static_cast<std::size_t>(probabilities.size(1));
  const double* const p = probabilities.const_data_ptr<double>();
  std::vector<double> counts(classes), thresholds(classes), joint(classes * classes);
  for (std::size_t i = 0; i < n; ++i) {
    if (label[i] == does_not_count) continue;
    if (std::isnan(p[i * classes])) return no_value;
    const auto k = static_cast<std::size_t>(label[i]);
    counts[k] += 1;
    thresholds[k] += p[i * classes + k];
  }
  for (std::size_t k = 0; k < classes; ++k) {
    // No sample is of a class that no label names.
    thresholds[k] = counts[k] > 0 ? thresholds[k] / counts[k] : std::numeric_limits<double>::infinity();
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (label[i] == does_not_count) continue;
    const std::ptrdiff_t k = confident_class(p + i * classes, thresholds);
    if (k >= 0) joint[static_cast<std::size_t>(label[i]) * classes + static_cast<std::size_t>(k)] += 1;
  }
  double all = 0, right = 0;
  for (std::size_t k = 0; k < classes; ++k) {
    if (counts[k] == 0) continue;
    double& diagonal = joint[k * classes + k];
    diagonal = std::max(diagonal, 1.0);
    double row = 0;
    for (std::size_t j = 0; j < classes; ++j) row += joint[k * classes + j];
    all += counts[k];
    right += counts[k] * diagonal / row;
  }
  return all > 0 ? 1 - right / all : no_value;
}

class LabelNoise final : public Metric {
 public:
  LabelNoise(const Options& options, const Head& head, std::int64_t members)
      : scores_(options, head, ClassScores::Single::allowed), slots_(slots(members)) {}

  void update(const at::Tensor& out, const BatchView& batch) override {
    const at::NoGradGuard no_grad;
    const ClassScores::Rows rows = scores_.rows(out, batch);
    kept_.push_back(rows.log_probabilities().exp_());
    at::Tensor labels = rows.labels;
    if (rows.valid.defined()) labels = labels.masked_fill(rows.valid.logical_not(), does_not_count);
    kept_labels_.push_back(labels.clone());  // what a batch lies in is used again
  }
  std::vector<double> compute() const override {
    std::vector<double> values(static_cast<std::size_t>(slots_), no_value);
    if (kept_.empty()) return values;
    const at::Tensor all = at::concat(kept_, 1).cpu(), labels = at::concat(kept_labels_, 1).cpu().contiguous();
    scores_.require_classes(labels.masked_fill(labels.eq(does_not_count), 0));  // those of a GPU were not looked at yet
    for (std::int64_t m = 0; m < slots_; ++m) {
      values[static_cast<std::size_t>(m)] = share_of_wrong_labels(
          all.select(0, m).contiguous(), labels.const_data_ptr<std::int64_t>() + m * labels.size(1));
    }
    return values;
  }
  void reset() override {
    kept_.clear();
    kept_labels_.clear();
  }

 private:
  ClassScores scores_;
  std::int64_t slots_;
  std::vector<at::Tensor> kept_, kept_labels_;  // [S, B, K] float64, [S, B] int64
};

}  // namespace

void register_metric_label_noise(Registry& registry) {
  add_metric(
      registry,
      Entry("metric.label_noise", "metric",
            "The estimated share of wrong labels in a part that the model has not seen.")
          .with(ignore_index_option())
          .example("metric.label_noise()")
          .note("Confident learning (Northcutt et al. 2021): a sample counts for the class whose probability reaches "
                "the mean that samples with this label have, and for the most probable of several; the share of "
                "those that count for another class than their label, with each class as frequent as its label. "
                "Meant for the validation or the test part: of samples that the model was trained with, it may have "
                "learnt the wrong labels. All probabilities are kept until the end of the part."),
      MetricKind{.make = [](const Options& options, const Head& head, std::int64_t members) -> std::unique_ptr<Metric> {
                   return std::make_unique<LabelNoise>(options, head, members);
                 },
                 .name = [](const Options&) { return std::string("label_noise"); },
                 .minimize = true});
}

}  // namespace trainlab
