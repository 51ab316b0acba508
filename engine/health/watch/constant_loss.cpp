#include "constant_loss.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "objective/loss.h"

namespace trainlab {
namespace {

constexpr std::int64_t most_numbers = 200'000, most_labels = 4'000'000;  // that are read of a part
// Samples whose best constant is not much better for them than for the others.
constexpr std::int64_t fewest_targets = 50;

// Evenly spaced samples of a column, at most about `most` values, as [samples, values]; undefined where samples are
// made when they are needed, or changed by functions of the recipe.
at::Tensor some_values(const Part& part, std::size_t column, std::int64_t most) {
  const Column& from = part.data->columns[column];
  if (!from.values.defined() || !part.transforms.empty() || part.size() == 0) return {};
  const std::int64_t each = std::max<std::int64_t>(element_count(from.sample_shape()), 1);
  const std::int64_t spacing = std::max<std::int64_t>((part.size() * each + most - 1) / most, 1);
  std::vector<std::int64_t> rows;
  for (std::int64_t place = 0; place < part.size(); place += spacing) rows.push_back(part.row(place));
  const at::Tensor places = at::from_blob(rows.data(), {std::ssize(rows)}, at::kLong);
  at::Tensor values = at::index_select(from.values, 0, places);
  if (from.scale.defined()) values = values.to(at::kDouble).mul(from.scale);
  if (from.shift.defined()) values = values.to(at::kDouble).add(from.shift);
  return values.reshape({std::ssize(rows), each});
}

ConstantLoss of_numbers(const FitPlan& plan, const LossKind& kind) {
  std::vector<at::Tensor> targets;
  for (const Part* part : {&plan.data.train, plan.data.val ? &*plan.data.val : nullptr}) {
    if (!part) continue;
    const at::Tensor values = some_values(*part, plan.head.target_column, most_numbers);
    if (values.defined()) targets.push_back(values.to(at::kDouble));
    if (targets.empty() || targets.front().size(0) < fewest_targets) return {};
  }
  const std::vector<double> losses = kind.constant_losses(plan.options.child("loss"), targets);
  return {.train = losses.front(), .val = losses.size() > 1 ? losses.back() : unmeasured};
}

ConstantLoss of_labels(const FitPlan& plan) {
  const Head& head = plan.head;
  const at::Tensor values = some_values(plan.data.train, head.target_column, most_labels);
  if (!values.defined()) return {};
  const at::Tensor labels = values.to(at::kLong).contiguous();
  return {.train = entropy_of(counts_of(labels, head.classes, head.columns[head.target_column].ignored))};
}

}  // namespace

std::vector<double> counts_of(const at::Tensor& labels, std::int64_t classes, std::optional<std::int64_t> ignored) {
  std::vector<double> counts(static_cast<std::size_t>(classes));
  const std::int64_t* label = labels.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < labels.numel(); ++i) {
    if (label[i] >= 0 && label[i] < classes && label[i] != ignored) ++counts[static_cast<std::size_t>(label[i])];
  }
  return counts;
}

double entropy_of(const std::vector<double>& counts) {
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  double entropy = 0;
  for (const double count : counts) entropy -= count > 0 ? count / all * std::log(count / all) : 0;
  return all > 0 ? entropy : unmeasured;
}

ConstantLoss constant_loss(const FitPlan& plan) {
  const LossKind* const kind = plan.loss_kind();
  const Head& head = plan.head;
  const std::shared_ptr<const Draws>& draws = plan.data.train.draws;
  const bool is_weighted = head.weight_column || (draws && !draws->cumulative.empty());
  if (!kind || is_weighted || head.mixes_labels || head.target_column >= head.columns.size()) return {};
  const Options loss = plan.options.child("loss");
  if (kind->constant_losses && !loss.given("target")) return of_numbers(plan, *kind);
  const bool has_positions = head.classes > 0 && !head.target.empty();
  if (kind->has_entropy_of_labels && loss.names().empty() && has_positions) return of_labels(plan);
  return {};
}

}  // namespace trainlab
