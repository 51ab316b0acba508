// The confusion matrix and the scores of each class: a report beside the numbers.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>

#include "class_scores.h"
#include "objective/metric.h"
#include "objective/metrics.h"

namespace trainlab {

namespace {

// With more classes the matrix is left out of the report: it would fill summary.json and be unreadable.
constexpr std::int64_t most_classes = 100;

class ClassReport final : public Metric {
 public:
  ClassReport(const Options& options, const Head& head, std::int64_t members)
      : scores_(options, head, ClassScores::Single::allowed),
        names_(head.class_names),
        slots_(slots(members)),
        counts_(at::zeros({slots_ * scores_.classes() * scores_.classes()},
                          at::TensorOptions().dtype(at::kLong).device(head.device))),
        first_(at::arange(slots_, counts_.options()).mul_(scores_.classes() * scores_.classes()).unsqueeze_(-1)) {}

  void update(const at::Tensor& out, const BatchView& batch) override {
    const at::NoGradGuard no_grad;
    const ClassScores::Rows rows = scores_.rows(out, batch);
    const at::Tensor cell = rows.labels.mul(scores_.classes()).add(rows.guesses()).add_(first_).reshape({-1});
    const at::Tensor one = rows.valid.defined() ? rows.valid.to(at::kLong).reshape({-1}) : at::ones_like(cell);
    counts_.index_add_(0, cell, one);
  }
  std::vector<double> compute() const override { return {}; }
  void reset() override { counts_.zero_(); }

  Value report(std::size_t member) const override {
    const auto classes = static_cast<std::size_t>(scores_.classes());
    const std::vector<double> all = read_doubles(counts_);
    const auto cell = [&](std::size_t label, std::size_t guess) {
      return all[(member * classes + label) * classes + guess];
    };
    Value::List matrix, rows;
    for (std::size_t c = 0; c < classes; ++c) {
      double actual = 0, predicted = 0;
      Value::List line;
      for (std::size_t other = 0; other < classes; ++other) {
        actual += cell(c, other);
        predicted += cell(other, c);
        line.emplace_back(static_cast<std::int64_t>(cell(c, other)));
      }
      matrix.emplace_back(std::move(line));
      Value row;
      row.set("class", c < names_.size() ? names_[c] : std::to_string(c));
      row.set("precision", share(cell(c, c), predicted));
      row.set("recall", share(cell(c, c), actual));
      row.set("f1", share(2 * cell(c, c), predicted + actual));
      row.set("samples", static_cast<std::int64_t>(actual));
      rows.push_back(std::move(row));
    }
    Value report;
    report.set("classes", std::move(rows));
    if (scores_.classes() <= most_classes) report.set("matrix", std::move(matrix));
    return report;
  }

 private:
  ClassScores scores_;
  std::vector<std::string> names_;
  std::int64_t slots_;
  at::Tensor counts_;  // int64 [S · C · C]: by label, then by guess
  at::Tensor first_;   // [S, 1]: 0, C², …
};

}  // namespace

void register_metric_report(Registry& registry) {
  add_metric(
      registry,
      Entry("metric.report", "metric", "Confusion matrix, and precision, recall and F1 of each class.")
          .with(ignore_index_option())
          .example("metric.report()")
          .note("Gives no number but a part of summary.json: reports[\"val.report\"], for the weights that are kept, "
                "and reports[\"test.report\"]. Each holds classes (class, precision, recall, f1, samples) and, up to "
                "100 classes, matrix, with a row for each label and a column for each prediction. `trainlab report "
                "RUN` prints it."),
      MetricKind{.make = [](const Options& options, const Head& head, std::int64_t members) -> std::unique_ptr<Metric> {
                   return std::make_unique<ClassReport>(options, head, members);
                 },
                 .name = [](const Options&) { return std::string("report"); },
                 .minimize = false,
                 .is_number = false});
}

}  // namespace trainlab
