// Precision, recall, F1, IoU, balanced accuracy and Matthews' correlation, from counts per class: hits (true
// positives), predicted, actual.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "class_scores.h"
#include "objective/metric.h"
#include "objective/metrics.h"

namespace trainlab {

namespace {

// Counts of one class, or summed over classes.
struct Counts {
  double hits = 0, predicted = 0, actual = 0;
};

using Score = double (*)(const Counts&);
double precision(const Counts& c) { return share(c.hits, c.predicted); }
double recall(const Counts& c) { return share(c.hits, c.actual); }
double f1(const Counts& c) { return share(2 * c.hits, c.predicted + c.actual); }

double iou(const Counts& c) { return share(c.hits, c.predicted + c.actual - c.hits); }

enum class Average { macro, micro, weighted, one_class };

struct Rule {
  Average average = Average::macro;
  std::int64_t one_class = 0;
};

double averaged(const std::vector<Counts>& classes, Score score, const Rule& rule) {
  if (rule.average == Average::one_class) return score(classes[static_cast<std::size_t>(rule.one_class)]);
  Counts all;
  double sum = 0, weights = 0;
  for (const Counts& c : classes) {
    all.hits += c.hits;
    all.predicted += c.predicted;
    all.actual += c.actual;
    const bool seen = c.predicted > 0 || c.actual > 0;
    const double weight = rule.average == Average::weighted ? c.actual : (seen ? 1.0 : 0.0);
    sum += weight * score(c);
    weights += weight;
  }
  return rule.average == Average::micro ? score(all) : share(sum, weights);
}

Rule rule_of(const Options& options, std::int64_t classes) {
  if (!options.given("average")) return classes == 2 ? Rule{Average::one_class, 1} : Rule{Average::macro, 0};
  const Value& average = options.get("average");
  if (average.is_integer()) {
    if (average.integer() >= classes) {
      throw options.error("average", "expected a class from 0 to " + std::to_string(classes - 1) + ", found " +
                                         std::to_string(average.integer()));
    }
    return {Average::one_class, average.integer()};
  }
  if (average.string() == "micro") return {Average::micro, 0};
  if (average.string() == "weighted") return {Average::weighted, 0};
  return {Average::macro, 0};
}

// Mean of the recall over the classes that occur.
double balanced_accuracy(const std::vector<Counts>& classes) {
  double sum = 0, seen = 0;
  for (const Counts& c : classes) {
    if (c.actual == 0) continue;
    sum += c.hits / c.actual;
    seen += 1;
  }
  return share(sum, seen);
}

// Matthews' correlation for any number of classes: Gorodkin, "Comparing two K-category assignments by a K-category
// correlation coefficient" (2004).
double matthews(const std::vector<Counts>& classes) {
  double hits = 0, all = 0, both = 0, predicted = 0, actual = 0;
  for (const Counts& c : classes) {
    hits += c.hits;
    all += c.actual;
    both += c.predicted * c.actual;
    predicted += c.predicted * c.predicted;
    actual += c.actual * c.actual;
  }
  const double spread = (all * all - predicted) * (all * all - actual);
  return spread > 0 ? (hits * all - both) / std::sqrt(spread) : 0;
}

using Summary = std::function<double(const std::vector<Counts>&)>;

class ConfusionMetric final : public Metric {
 public:
  ConfusionMetric(const Options& options, const Head& head, std::int64_t members, Summary summary)
      : scores_(options, head, ClassScores::Single::allowed),
        members_(members),
        classes_(scores_.classes()),
        summary_(std::move(summary)) {
    const at::TensorOptions integers = at::TensorOptions().dtype(at::kLong).device(head.device);
    const std::int64_t classes = classes_;
    counts_ = at::zeros({3, slots(members) * classes}, integers);
    hits_ = counts_.select(0, 0);
    predicted_ = counts_.select(0, 1);
    actual_ = counts_.select(0, 2);
    first_slot_ = at::arange(slots(members), integers).mul_(classes).unsqueeze_(-1);
  }

  void update(const at::Tensor& out, const BatchView& batch) override {
    const at::NoGradGuard no_grad;
    const ClassScores::Rows rows = scores_.rows(out, batch);
    const at::Tensor guess = rows.guesses();
    const at::Tensor one = (rows.valid.defined() ? rows.valid.to(at::kLong) : at::ones_like(guess)).reshape({-1});
    const at::Tensor right = guess.eq(rows.labels).to(at::kLong).reshape({-1}).mul_(one);
    const at::Tensor guess_slot = slot_of(guess), label_slot = slot_of(rows.labels);
    hits_.index_add_(0, label_slot, right);
    predicted_.index_add_(0, guess_slot, one);
    actual_.index_add_(0, label_slot, one);
  }

  std::vector<double> compute() const override {
    const std::vector<double> counts = read_doubles(counts_);
    const auto per_row = static_cast<std::size_t>(slots(members_) * classes_),
               classes = static_cast<std::size_t>(classes_);
    std::vector<double> values;
    for (std::size_t first = 0; first < per_row; first += classes) {
      std::vector<Counts> of_member;
      for (std::size_t i = first; i < first + classes; ++i)
        of_member.push_back({counts[i], counts[per_row + i], counts[2 * per_row + i]});
      const bool counts_any = std::ranges::any_of(of_member, [](const Counts& c) { return c.actual > 0; });
      values.push_back(counts_any ? summary_(of_member) : no_value);
    }
    return values;
  }

  void reset() override { counts_.zero_(); }

 private:
  // Index of a member's class in a row of counts, flat.
  at::Tensor slot_of(const at::Tensor& classes) const { return classes.add(first_slot_).reshape({-1}); }

  ClassScores scores_;
  std::int64_t members_, classes_;
  Summary summary_;
  at::Tensor counts_;                     // int64 [3, M·C]
  at::Tensor hits_, predicted_, actual_;  // its rows
  at::Tensor first_slot_;                 // [M, 1]: 0, C, 2C, …
};

void add(Registry& registry, const std::string& name, const std::string& doc, const std::string& formula, Score score) {
  add_metric(
      registry,
      Entry("metric." + name, "metric", doc)
          .with(Option("average",
                       "how classes are averaged: \"macro\": mean over the classes that occur; \"micro\": over all "
                       "samples; \"weighted\": by the number of samples of each class; a number: that class alone. "
                       "Default: class 1 where there are two classes, else \"macro\"")
                    .choice({"macro", "micro", "weighted"})
                    .integer()
                    .at_least(0)
                    .positional())
          .with(ignore_index_option())
          .example("metric." + name + " { average = \"weighted\" }")
          .note(formula +
                " A quotient 0/0 counts as 0; macro leaves out classes that neither occur nor were predicted. Equals "
                "scikit-learn's " +
                name + "_score. The metric is named " + name + ", or for class 3 alone " + name +
                "_3. With one logit per sample, a logit above 0 means class 1."),
      MetricKind{
          .make = [score](const Options& options, const Head& head, std::int64_t members) -> std::unique_ptr<Metric> {
            const Rule rule = rule_of(options, require_classification(options, head));
            return std::make_unique<ConfusionMetric>(
                options, head, members, [score, rule](const auto& classes) { return averaged(classes, score, rule); });
          },
          .name =
              [name](const Options& options) {
                const bool one_class = options.given("average") && options.get("average").is_integer();
                return one_class ? name + "_" + std::to_string(options.integer("average")) : name;
              },
          .minimize = false,
          .at_most_one = true});
}

void add_summary(Registry& registry, const std::string& name, const std::string& doc, const std::string& note,
                 double (*summary)(const std::vector<Counts>&)) {
  add_metric(
      registry,
      Entry("metric." + name, "metric", doc).with(ignore_index_option()).example("metric." + name + "()").note(note),
      MetricKind{
          .make = [summary](const Options& options, const Head& head, std::int64_t members) -> std::unique_ptr<Metric> {
            return std::make_unique<ConfusionMetric>(options, head, members, summary);
          },
          .name = [name](const Options&) { return name; },
          .minimize = false,
          .at_most_one = true});
}

}  // namespace

void register_metric_confusion(Registry& registry) {
  add(registry, "precision", "Share of the predictions of a class that are right.", "tp / (tp + fp).", precision);
  add(registry, "recall", "Share of the samples of a class that were found.", "tp / (tp + fn).", recall);
  add(registry, "f1", "Harmonic mean of precision and recall.",
      "2 tp / (2 tp + fp + fn); for segmentations this is the Dice coefficient.", f1);
  add(registry, "iou", "Intersection over union of predicted and true regions, the Jaccard index.",
      "tp / (tp + fp + fn).", iou);
  add_summary(registry, "balanced_accuracy", "Mean of the recall over the classes that occur.",
              "Equals scikit-learn's balanced_accuracy_score.", balanced_accuracy);
  add_summary(
      registry, "mcc", "Matthews' correlation coefficient of predicted and true classes.",
      "For any number of classes (Gorodkin 2004); 0 where all predictions or all labels are of one class. Equals "
      "scikit-learn's matthews_corrcoef.",
      matthews);
}

}  // namespace trainlab
