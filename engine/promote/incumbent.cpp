#include "incumbent.h"

#include <ATen/ExpandUtils.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "predict/stage_predictor.h"
#include "run/folder.h"
#include "train/evaluator.h"

namespace trainlab {
namespace {

const at::Tensor* find(const NamedTensors& tensors, const std::string& name) {
  const auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : &found->second;
}

// Raises an error unless both runs have derived the same tensor of this name from their data, such as categories.
void require_same(const NamedTensors& present, const NamedTensors& former, const std::string& name,
                  const std::string& what) {
  const at::Tensor *now = find(present, name), *then = find(former, name);
  if (!now && !then) return;
  if (now && then && now->sizes() == then->sizes() && at::equal(*now, *then)) return;
  throw usage_error("its training data had " + what);
}

// Converts values x of the present data to the values that the former run's normalisation would give: x·scale + shift.
// The mean of data that are not normalised counts as 0, and their deviation as 1.
class Renormalisation {
 public:
  Renormalisation(const NamedTensors& present, const NamedTensors& former) {
    const at::Tensor *mean = find(present, "x.mean"), *deviation = find(present, "x.std");
    const at::Tensor *former_mean = find(former, "x.mean"), *former_deviation = find(former, "x.std");
    if (!mean && !former_mean) return;
    if (mean && former_mean && mean->sizes() != former_mean->sizes()) throw another_shape();
    scale_ = mean ? *deviation : at::ones_like(*former_deviation);
    shift_ = mean ? *mean : at::zeros_like(*former_mean);
    if (!former_mean) return;
    scale_ = scale_.div(*former_deviation);
    shift_ = shift_.sub(*former_mean).div(*former_deviation);
  }

  at::Tensor operator()(const at::Tensor& x) const {
    if (!scale_.defined()) return x;
    if (!x.is_floating_point()) throw usage_error("its inputs were normalised, and whole numbers are not");
    if (!at::is_expandable_to(scale_.sizes(), x.sizes())) throw another_shape();
    const auto like_x = [&](const at::Tensor& tensor) { return tensor.to(x.options()); };
    return x.mul(like_x(scale_)).add(like_x(shift_));
  }

 private:
  static Error another_shape() { return usage_error("its inputs had another shape"); }

  at::Tensor scale_, shift_;
};

}  // namespace

const Part& part_of(const FitPlan& plan, const std::string& metric) {
  return metric.starts_with("test.") ? *plan.data.test : *plan.data.val;
}

double metric_of_run(const FitPlan& plan, const std::filesystem::path& run, const std::string& stage,
                     const std::string& metric) {
  const bool has_stage = std::ranges::count(read_stages(run), stage, &StageRecord::name) > 0;
  const StageRecord compared = find_stage(run, has_stage ? std::optional(stage) : std::nullopt);
  const StagePredictor predictor(plan.options.registry(), compared.folder, plan.device);
  const Predictor& former = predictor.only();
  require_same(plan.data.state, former.data(), "table", "other columns, fill values or categories");
  require_same(plan.data.state, former.data(), "tokenizer", "another tokenizer");
  const Renormalisation as_former(plan.data.state, former.data());

  // The columns that the new model reads, in the order in which the former one reads them.
  const std::vector<std::string>& columns = plan.model->columns();
  std::vector<std::size_t> order;
  for (const InputColumn& input : former.file().inputs) {
    const auto found = std::ranges::find(columns, input.name);
    if (found == columns.end()) throw usage_error("it reads the column " + input.name + ", and the new model does not");
    order.push_back(static_cast<std::size_t>(found - columns.begin()));
  }
  const std::string prefix = metric.substr(0, metric.find('.'));
  const Part& part = part_of(plan, metric);
  const auto outputs = [&](std::span<const at::Tensor> inputs) {
    std::vector<at::Tensor> own;
    own.reserve(order.size());
    for (const std::size_t i : order) own.push_back(columns[i] == "x" ? as_former(inputs[i]) : inputs[i]);
    return former.forward(own);
  };
  return Evaluator(plan, part, prefix, 0).run(outputs).front().at(metric);
}

}  // namespace trainlab
