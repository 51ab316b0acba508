#include "arrays.h"

#include <ATen/ops/isfinite.h>
#include <ATen/ops/masked_fill.h>
#include <ATen/ops/max.h>
#include <ATen/ops/min.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>
#include <limits>

namespace trainlab {

namespace {

void add_classes(Dataset& dataset, const NamedArray& array, const at::Tensor& values) {
  const at::Tensor labels = values.to(at::kLong);
  count_classes(dataset, labels, array.from);
  dataset.columns.push_back({array.name, labels, {}, {}});
}

// A conversion would make negative numbers of those that int64 cannot hold.
void check_fits_int64(const at::Tensor& values, const std::string& from) {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  const auto* const begin = values.const_data_ptr<std::uint64_t>();
  const auto* const end = begin + values.numel();
  const auto* const found = std::find_if(begin, end, [](std::uint64_t number) { return number > most; });
  if (found == end) return;
  throw recipe_error(from + ": expected whole numbers of at most " + std::to_string(most) + ", found " +
                     std::to_string(*found))
      .hint("uint64 has such numbers in place of negative ones: save the array as int64");
}

void add_column(Dataset& dataset, const NamedArray& array) {
  at::Tensor values = array.values.contiguous();
  const at::ScalarType type = values.scalar_type();
  const bool target = array.name == "y";
  if (at::isComplexType(type)) throw recipe_error(array.from + ": complex numbers cannot be a column of data");
  if (at::isFloatingType(type)) {
    if (type != at::kFloat && type != at::kDouble) values = values.to(at::kFloat);
    check_finite(values, array.from);
    if (values.dim() == 1) values = values.unsqueeze(1);
    dataset.columns.push_back({array.name, values, {}, {}});
    return;
  }
  if (type == at::kUInt64) check_fits_int64(values, array.from);
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

void check_finite(const at::Tensor& values, const std::string& from) {
  if (!values.is_floating_point()) return;
  constexpr std::int64_t piece = std::int64_t{1} << 20;  // of values: isfinite makes several tensors of its argument
  for (const at::Tensor& some : values.reshape({-1}).split(piece)) {
    if (!at::isfinite(some).all().item<bool>())
      throw recipe_error(from + ": some values are not finite (NaN or infinity)");
  }
}

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
