#include "arrays.h"

#include <ATen/ops/isfinite.h>
#include <ATen/ops/masked_fill.h>
#include <ATen/ops/max.h>
#include <ATen/ops/min.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>

namespace trainlab {

namespace {

void add_classes(Dataset& dataset, const NamedArray& array, const at::Tensor& values) {
  const at::Tensor labels = values.to(at::kLong);
  count_classes(dataset, labels, array.from);
  dataset.columns.push_back({array.name, labels, {}, {}});
}

void add_column(Dataset& dataset, const NamedArray& array) {
  at::Tensor values = array.values.contiguous();
  const at::ScalarType type = values.scalar_type();
  const bool target = array.name == "y";
  if (at::isComplexType(type)) throw recipe_error(array.from + ": complex numbers cannot be a column of data");
  if (at::isFloatingType(type)) {
    if (type != at::kFloat && type != at::kDouble) values = values.to(at::kFloat);
    if (!at::isfinite(values).all().item<bool>())
      throw recipe_error(array.from + ": some values are not finite (NaN or infinity)");
    if (values.dim() == 1) values = values.unsqueeze(1);
    dataset.columns.push_back({array.name, values, {}, {}});
    return;
  }
  if (type == at::kUInt16 || type == at::kUInt32 || type == at::kUInt64) values = values.to(at::kLong);
  if (target) return add_classes(dataset, array, values);
  if (type == at::kByte || type == at::kBool) {
    if (values.dim() == 1) values = values.unsqueeze(1);
    const double unit = type == at::kByte ? 1.0 / 255 : 1.0;
    dataset.columns.push_back({array.name, values.to(at::kByte), at::scalar_tensor(unit, at::kFloat), {}});
  } else {
    dataset.columns.push_back({array.name, values, {}, {}, /*as_int64=*/true});
  }
}

}  // namespace

at::Tensor narrow_exactly(const at::Tensor& doubles) {
  const double* value = doubles.const_data_ptr<double>();
  const bool exact = std::all_of(value, value + doubles.numel(), [](double number) {
    return static_cast<double>(static_cast<float>(number)) == number;
  });
  return exact ? doubles.to(at::kFloat) : doubles;
}

std::int64_t highest_class(const at::Tensor& labels) {
  const auto highest = labels.max().item<std::int64_t>();
  if (highest < most_classes) return std::max<std::int64_t>(highest, -1);
  return std::max<std::int64_t>(labels.masked_fill(labels.ge(most_classes), -1).max().item<std::int64_t>(), -1);
}

void count_classes(Dataset& dataset, const at::Tensor& labels, const std::string& from) {
  const auto low = labels.min().item<std::int64_t>(), high = labels.max().item<std::int64_t>();
  const std::int64_t highest = highest_class(labels);
  if (highest < 0) {
    throw recipe_error(from + ": labels from " + std::to_string(low) + " to " + std::to_string(high) +
                       ", expected whole numbers from 0 to at most " + std::to_string(most_classes - 1))
        .hint("targets of a regression are floats");
  }
  dataset.classes = std::max(dataset.classes, highest + 1);
  dataset.lowest_label = std::min(dataset.lowest_label, low);
  if (high > highest) dataset.highest_mark = std::max(dataset.highest_mark, high);
}

Dataset dataset_of(const std::vector<NamedArray>& arrays) {
  Dataset dataset;
  const NamedArray& first = arrays.front();
  for (const NamedArray& array : arrays) {
    if (array.values.dim() == 0)
      throw recipe_error(array.from + ": a single number, expected an array whose first axis counts the samples");
    if (array.values.numel() == 0)
      throw recipe_error(array.from + ": there are no values in its shape " + shape_text(array.values.sizes()));
    if (array.values.size(0) != first.values.size(0)) {
      throw recipe_error(array.from + " holds " + std::to_string(array.values.size(0)) + " samples, but " + first.from +
                         " " + std::to_string(first.values.size(0)));
    }
    if (dataset.find(array.name)) throw recipe_error("two columns are named \"" + array.name + "\"");
    add_column(dataset, array);
  }
  dataset.size = first.values.size(0);
  return dataset;
}

}  // namespace trainlab
