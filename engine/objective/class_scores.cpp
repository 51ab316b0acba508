#include "class_scores.h"

#include <ATen/ops/bincount.h>
#include <ATen/ops/concat.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

#include <limits>

#include "core/value.h"

namespace trainlab {

Option class_weights_option() {
  return Option("class_weights",
                "a weight for each class, or \"balanced\": weights in inverse proportion to the number of training "
                "samples of each class, with a mean of 1 over the samples. The mean loss is weighted: the sum is "
                "divided by the sum of the labels' weights")
      .choice({"balanced"})
      .number()
      .at_least(0)
      .many();
}

Option ignore_index_option() {
  return Option("ignore_index",
                "label that marks positions which do not count: any whole number, a class or not. Metrics without "
                "this option leave out what the fit's loss leaves out")
      .integer();
}

Option label_smoothing_option() {
  return Option("label_smoothing", "share of the target that is spread evenly over all classes")
      .number()
      .at_least(0)
      .less_than(1)
      .or_default(0.0);
}

ClassScores::ClassScores(const Options& options, const Head& head, Single single)
    : options_(options),
      single_(single == Single::allowed && is_single_logit(head)),
      mixes_labels_(head.mixes_labels),
      target_column_(head.target_column),
      ignore_index_(ignored_label(options, head)) {
  if (single_) {
    require_binary(options, head);
    axis_ = {.classes = 2, .first = false};
  } else {
    axis_ = require_class_scores(options, head);
  }
}

std::int64_t ClassScores::ignored() const { return ignore_index_.value_or(std::numeric_limits<std::int64_t>::min()); }

ClassScores::Pair ClassScores::arrange(const at::Tensor& out, const BatchView& batch) const {
  at::Tensor target = batch.columns[target_column_];
  if (single_) {
    const at::Tensor logit = out.reshape({-1});
    target = share_of_one(mixes_labels_, target);
    at::Tensor one = target.scalar_type() == at::kLong || at::isFloatingType(target.scalar_type())
                         ? target.reshape({-1})
                         : target.reshape({-1}).to(at::kLong);
    if (one.numel() < logit.numel()) one = one.expand({batch.members, one.numel()}).reshape({-1});
    if (at::isFloatingType(one.scalar_type())) one = at::stack({one.neg().add(1), one}, 1).to(out.scalar_type());
    return {at::stack({at::zeros_like(logit), logit}, 1), one};
  }
  const bool distribution = at::isFloatingType(target.scalar_type());
  if (distribution && target.scalar_type() != out.scalar_type()) target = target.to(out.scalar_type());
  if (batch.members > 0) {
    const std::int64_t own = out.dim() - (distribution ? 0 : 1);
    if (target.dim() < own) {
      Shape shape = target.sizes().vec();
      shape.insert(shape.begin(), batch.members);
      target = target.expand(shape);
    }
  }
  if (axis_.first) {
    if (batch.members == 0) return {out, target};
    return {out.flatten(0, 1), target.flatten(0, 1)};
  }
  return {out.reshape({-1, axis_.classes}), distribution ? target.reshape({-1, axis_.classes}) : target.reshape({-1})};
}

ClassScores::Rows ClassScores::rows(const at::Tensor& out, const BatchView& batch) const {
  const std::int64_t slots = batch.members == 0 ? 1 : batch.members;
  const auto [scores, target] = arrange(out.detach(), batch);
  Rows rows;
  if (single_) {
    rows.scores = scores.select(1, 1).reshape({slots, -1, 1});
  } else {
    rows.scores = (axis_.first ? scores.movedim(1, -1) : scores).reshape({slots, -1, axis_.classes});
  }
  if (target.dim() == scores.dim()) {
    if (single_ && target.is_cpu() && target.numel() > 0) require_shares(target);
    rows.labels = target.argmax(1).reshape({slots, -1});
    return rows;
  }
  rows.labels = target.reshape({slots, -1});
  if (ignore_index_) {
    rows.valid = rows.labels.ne(*ignore_index_);
    rows.labels = rows.labels.mul(rows.valid);
  }
  if (rows.labels.is_cpu()) require_classes(rows.labels);
  return rows;
}

void ClassScores::require_shares(const at::Tensor& target) const {
  const auto [low, high] = target.select(1, 1).aminmax();
  const auto lowest = low.item<double>(), highest = high.item<double>();
  if (!(lowest < 0) && !(highest > 1)) return;
  throw options_.error("", "expected targets from 0 to 1, found " + number_text(lowest < 0 ? lowest : highest))
      .hint("of numbers, metrics are \"mae\", \"rmse\" and \"r2\"");
}

void ClassScores::require_classes(const at::Tensor& labels) const {
  if (labels.numel() == 0) return;
  const auto [low, high] = labels.aminmax();
  const auto lowest = low.item<std::int64_t>(), highest = high.item<std::int64_t>();
  if (lowest >= 0 && highest < axis_.classes) return;
  const std::string found = std::to_string(lowest < 0 ? lowest : highest);
  throw options_.error("", "expected labels from 0 to " + std::to_string(axis_.classes - 1) + ", found " + found)
      .hint("ignore_index = " + found + " leaves this label out");
}

at::Tensor ClassScores::Rows::guesses() const {
  return scores.size(-1) == 1 ? scores.squeeze(-1).gt(0).to(at::kLong) : scores.argmax(-1);
}

at::Tensor ClassScores::Rows::log_probabilities() const {
  const at::Tensor wide = scores.to(at::kDouble);
  return at::log_softmax(wide.size(-1) == 1 ? at::concat({at::zeros_like(wide), wide}, -1) : wide, -1);
}

at::Tensor class_weights(const Options& options, const Head& head, std::int64_t classes) {
  if (!options.given("class_weights")) return {};
  const Value::List& given = options.get("class_weights").list();
  const std::string& name = "class_weights";
  std::vector<double> values;
  if (given.size() == 1 && given[0].is_string()) {
    if (!head.training_labels || head.target_type != at::kLong) {
      throw options.error(name, "\"balanced\" needs class labels to count");
    }
    at::Tensor labels = head.training_labels(head.target_column).flatten();
    const std::optional<std::int64_t> ignored = ignored_label(options, head);
    if (ignored) labels = labels.masked_select(labels.ne(*ignored));
    const at::Tensor is_class = labels.ge(0).logical_and(labels.lt(classes));
    if (!is_class.all().item<bool>()) {
      const auto wrong = labels.masked_select(is_class.logical_not())[0].item<std::int64_t>();
      throw options.error(name, "\"balanced\" needs labels from 0 to " + std::to_string(classes - 1) + ", found " +
                                    std::to_string(wrong));
    }
    const at::Tensor counts = at::bincount(labels, {}, classes).to(at::kDouble);
    const auto all = static_cast<double>(labels.numel());
    const bool leaves_one_out = ignored && *ignored >= 0 && *ignored < classes;
    const auto counted = static_cast<double>(leaves_one_out ? classes - 1 : classes);
    for (std::int64_t c = 0; c < classes; ++c) {
      const double count = counts[c].item<double>();
      if (c == ignored) {
        values.push_back(0);
        continue;
      }
      if (count == 0) {
        throw options.error(name, "\"balanced\" needs samples of every class, found none of class " + std::to_string(c))
            .hint("give the weights as a list");
      }
      values.push_back(all / (counted * count));
    }
  } else {
    double sum = 0;
    for (const Value& value : given) {
      if (!value.is_number()) throw options.error(name, "expected \"balanced\" or numbers, found both");
      values.push_back(value.number());
      sum += values.back();
    }
    if (values.size() != static_cast<std::size_t>(classes)) {
      throw options.error(name, "expected " + std::to_string(classes) + " numbers, one per class, found " +
                                    std::to_string(values.size()));
    }
    if (!(sum > 0)) throw options.error(name, "expected at least one class with a weight above 0");
  }
  return at::tensor(values, at::TensorOptions().dtype(at::kDouble)).to(head.device, head.float_type);
}

}  // namespace trainlab
