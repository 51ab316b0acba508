// The measurements of a fit: the head of its model and data, the loss, the metrics.
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <set>
#include <span>

#include "data/mixing.h"
#include "fit_plan_parts.h"
#include "objective/head.h"
#include "objective/losses.h"
#include "objective/metrics.h"
#include "train/fit_plan.h"

namespace trainlab {
namespace {

// The parts' different datasets.
std::set<const Dataset*> datasets_of(const DataParts& parts) {
  std::set<const Dataset*> all{parts.train.data.get()};
  if (parts.val) all.insert(parts.val->data.get());
  if (parts.test) all.insert(parts.test->data.get());
  return all;
}

// The last column of the head as the target.
void describe_y(const FitPlan& plan, Head& head) {
  const Dataset& data = *plan.data.train.data;
  head.target_column = head.columns.size() - 1;
  head.target = head.columns.back().shape;
  head.target_type = head.columns.back().type;
  head.classes = data.classes;
  head.class_names = data.class_names;
  head.mixes_labels = mixes_labels(plan.data.train);
  for (const Dataset* dataset : datasets_of(plan.data)) {
    head.lowest_label = std::min(head.lowest_label, dataset->lowest_label);
    head.highest_mark = std::max(head.highest_mark, dataset->highest_mark);
  }
}

// Floats that are stored as batches hold them, all from 0 to 1 but for rounding.
bool is_shares(const Column& column) {
  if (!column.values.defined() || column.scale.defined() || !column.values.is_floating_point()) return false;
  constexpr double rounding = 1e-5;
  const auto [low, high] = column.values.aminmax();
  return low.item<double>() >= -rounding && high.item<double>() <= 1 + rounding;
}

Head make_head(const FitPlan& plan) {
  const Dataset& data = *plan.data.train.data;
  const auto type_of = [&plan](const Column& column) {
    return column.batch_type() == at::kFloat ? plan.precision.batches : column.batch_type();
  };
  Head head;
  if (plan.model) head.output = plan.model->output();
  head.target_type = at::kFloat;
  head.float_type = plan.precision.loss;
  head.device = plan.device;
  head.target_column = data.columns.size();
  for (std::size_t i = 0; i < data.columns.size(); ++i) {
    const Column& column = data.columns[i];
    head.columns.push_back({.name = column.name, .shape = column.sample_shape(), .type = type_of(column)});
    head.columns.back().is_shares = column.sample_shape() == head.output && is_shares(column);
    if (column.name == "y") describe_y(plan, head);
    if (column.name == "weight" && element_count(column.sample_shape()) == 1) head.weight_column = i;
  }
  head.training_labels = [part = plan.data.train](std::size_t column) {
    const at::Tensor& values = part.data->columns[column].values;
    if (!values.defined()) throw recipe_error("labels that are made for each batch cannot be counted");
    if (!part.rows) return values.to(at::kLong);
    return values.index_select(0, at::tensor(*part.rows, at::kLong)).to(at::kLong);
  };
  return head;
}

struct Ignored {
  Options entry;
  std::string target;
  std::int64_t label;
};

// The options ignore_index that a recipe gives to losses or metrics.
std::vector<Ignored> ignored_labels(const std::vector<Options::Element>& elements) {
  std::vector<Ignored> all;
  for (const Options::Element& one : elements) {
    if (!one.entry || !one.entry->entry().find("ignore_index") || !one.entry->given("ignore_index")) continue;
    all.push_back({*one.entry, one.entry->string("target"), one.entry->integer("ignore_index")});
  }
  return all;
}

// The highest label may be the mark of what does not count, as 255 among the labels of segmentations. The mark is then
// no class, unless the model has a score for it.
void leave_out_highest(const FitPlan& plan, Head& head) {
  const std::int64_t highest = head.classes - 1;
  if (highest < 0 || !head.class_names.empty() || head.mixes_labels || class_axis(head)) return;
  const auto marks = [highest](const Ignored& one) { return one.target == "y" && one.label == highest; };
  if (std::ranges::none_of(ignored_labels(single_losses(plan.options)), marks) &&
      std::ranges::none_of(ignored_labels(plan.options.elements("metrics")), marks)) {
    return;
  }
  head.classes = 0;
  for (const Dataset* data : datasets_of(plan.data)) {
    const at::Tensor labels = data->find("y")->values.to(at::kLong);
    const auto counted = labels.masked_fill(labels.eq(highest), -1).max().item<std::int64_t>() + 1;
    head.classes = std::max(head.classes, counted);
  }
  // A loss without the mark would take it for a class.
  for (const Options::Element& loss : single_losses(plan.options)) {
    if (!loss.entry || loss.entry->string("target") != "y") continue;
    const Entry& entry = loss.entry->entry();
    if (!plan.options.registry().implementation<LossKind>(entry).takes_classes) continue;
    const bool can_ignore = entry.find("ignore_index") != nullptr;
    if (can_ignore && loss.entry->given("ignore_index")) continue;
    const std::string mark = std::to_string(highest);
    throw loss.entry
        ->error("", "expected labels from 0 to " + std::to_string(head.classes - 1) + ", found " + mark +
                        " in the data, which another loss or a metric leaves out")
        .hint(can_ignore ? "ignore_index = " + mark + " in this loss too"
                         : entry.name + " takes every label for a class; loss.cross_entropy { ignore_index = " + mark +
                               " } leaves this label out");
  }
}

void plan_metrics(FitPlan& plan) {
  for (const Options::Element& element : plan.options.elements("metrics")) {
    PlannedMetric metric = metric_of(element, plan.metrics.size() + 1);
    for (const PlannedMetric& other : plan.metrics) {
      if (other.name == metric.name) throw plan.options.error("metrics", "two metrics are named " + metric.name);
    }
    metric.make(plan.head, 0);  // checks that it fits the model's output and the data
    plan.metrics.push_back(std::move(metric));
  }
}

struct NamedPart {
  std::string name;
  const Part& part;
};

std::vector<NamedPart> parts_of(const DataParts& data) {
  std::vector<NamedPart> parts{{"training", data.train}};
  if (data.val) parts.push_back({"validation", *data.val});
  if (data.test) parts.push_back({"test", *data.test});
  return parts;
}

// Whether a column of the part holds any other value, as far as this is known before batches are made.
bool holds_other(const Part& part, const std::string& column, std::int64_t value) {
  const Column* found = part.data->find(column);
  if (!found || !found->values.defined() || !part.transforms.empty()) return true;
  constexpr std::int64_t rows_at_once = 1024;  // mostly the first rows give the answer
  for (std::int64_t first = 0; first < part.size(); first += rows_at_once) {
    const std::int64_t count = std::min(rows_at_once, part.size() - first);
    at::Tensor rows;
    if (part.rows) {
      const std::span<const std::int64_t> all(*part.rows);
      rows = found->values.index_select(0, at::tensor(at::IntArrayRef(all.data() + first, count), at::kLong));
    } else {
      rows = found->values.narrow(0, first, count);
    }
    if (!rows.is_floating_point()) rows = rows.to(at::kLong);  // bytes hold no mark below 0
    if (rows.ne(value).any().item<bool>()) return true;
  }
  return false;
}

// Means over nothing would be no numbers.
void require_what_counts(const FitPlan& plan) {
  std::vector<Ignored> ignored = ignored_labels(single_losses(plan.options));
  for (Ignored& one : ignored_labels(plan.options.elements("metrics"))) ignored.push_back(std::move(one));
  for (const auto& [name, part] : parts_of(plan.data)) {
    for (const Ignored& one : ignored) {
      if (holds_other(part, one.target, one.label)) continue;
      throw one.entry.error("ignore_index", "every label of the " + name + " part is " + std::to_string(one.label) +
                                                ": nothing there counts");
    }
    if (plan.head.weight_column && !holds_other(part, "weight", 0)) {
      throw plan.options.error("data", "every sample of the " + name + " part has the weight 0: nothing there counts");
    }
  }
}

}  // namespace

void plan_objective(FitPlan& plan) {
  plan.head = make_head(plan);
  require_what_counts(plan);
  leave_out_highest(plan, plan.head);
  plan.loss = make_loss(plan.options, plan.head);
  // Metrics leave out what the loss leaves out, of several losses the first with an ignore_index.
  for (const Ignored& one : ignored_labels(single_losses(plan.options))) {
    for (HeadColumn& column : plan.head.columns) {
      if (column.name == one.target && !column.ignored) column.ignored = one.label;
    }
  }
  plan_metrics(plan);
}

}  // namespace trainlab
