// data:normalize.
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/threads/parallel.h"
#include "loader/row_gather.h"
#include "normalize.h"
#include "set/sources.h"

namespace trainlab {

namespace {

// Mean and standard deviation of each channel ([C, …]) or feature ([F]), as [C, 1, …] or [F].
struct Moments {
  at::Tensor mean, std;
};

// Sums over some rows, of the distance from the first sample's value: exact zeros for a constant, no cancellation
// otherwise.
struct Sums {
  std::vector<double> values, squares;
};

// `Number`: the type in which the values are read, double for stored values of float64.
template <class Number>
Moments moments_of(const Part& part, const Column& column) {
  constexpr std::int64_t rows_at_once = 1024;  // as many cores as there are make and sum such blocks
  Shape shape = column.sample_shape();
  const std::int64_t elements = element_count(shape);
  const std::int64_t channels = shape.empty() ? 1 : shape[0], block = elements / channels;
  for (std::size_t i = 1; i < shape.size(); ++i) shape[i] = 1;

  const RowGather numbers(column, c10::CppTypeToScalarType<Number>::value);
  const auto gathered = [&](std::int64_t first, std::int64_t end) {
    std::vector<std::int64_t> rows;
    for (std::int64_t i = first; i < end; ++i) rows.push_back(part.row(i));
    std::vector<Number> values(rows.size() * static_cast<std::size_t>(elements));
    numbers.copy(rows, reinterpret_cast<std::byte*>(values.data()));
    return values;
  };
  std::vector<double> origin;
  const std::vector<Number> first_sample = gathered(0, 1);
  for (std::int64_t c = 0; c < channels; ++c)
    origin.push_back(static_cast<double>(first_sample[static_cast<std::size_t>(c * block)]));

  std::vector<Sums> sums(static_cast<std::size_t>((part.size() + rows_at_once - 1) / rows_at_once));
  for_each_block(static_cast<std::int64_t>(sums.size()), [&](std::int64_t number) {
    const std::int64_t first = number * rows_at_once, end = std::min(first + rows_at_once, part.size());
    const std::vector<Number> values = gathered(first, end);
    Sums& own = sums[static_cast<std::size_t>(number)];
    own.values.resize(origin.size());
    own.squares.resize(origin.size());
    const Number* value = values.data();
    for (std::int64_t row = first; row < end; ++row) {
      for (std::size_t c = 0; c < origin.size(); ++c, value += block) {
        double s = 0, q = 0;
        for (std::int64_t i = 0; i < block; ++i) {
          const double distance = static_cast<double>(value[i]) - origin[c];
          s += distance;
          q += distance * distance;
        }
        own.values[c] += s;
        own.squares[c] += q;
      }
    }
  });
  Moments moments{at::empty(shape, at::kDouble), at::empty(shape, at::kDouble)};
  const double count = static_cast<double>(part.size()) * static_cast<double>(block);
  for (std::size_t c = 0; c < origin.size(); ++c) {
    double sum = 0, squares = 0;
    for (const Sums& own : sums) {  // in order: the same numbers on any number of cores
      sum += own.values[c];
      squares += own.squares[c];
    }
    const double distance = sum / count;
    const double variance = std::max(0.0, squares / count - distance * distance);
    moments.mean.mutable_data_ptr<double>()[c] = origin[c] + distance;
    moments.std.mutable_data_ptr<double>()[c] = variance > 0 ? std::sqrt(variance) : 1;
  }
  return moments;
}

// As the recipe says: a number for each channel or feature, or one for all.
at::Tensor given(const Options& spec, const char* option, const Column& column) {
  Shape shape = column.sample_shape();
  for (std::size_t i = 1; i < shape.size(); ++i) shape[i] = 1;
  const std::vector<double> numbers = spec.numbers(option);
  const auto wanted = static_cast<std::size_t>(element_count(shape));
  if (numbers.size() != 1 && numbers.size() != wanted) {
    throw spec.error(option, "expected one number or " + std::to_string(wanted) + ", one for each channel, found " +
                                 std::to_string(numbers.size()));
  }
  at::Tensor tensor = at::empty(shape, at::kDouble);
  for (std::size_t i = 0; i < wanted; ++i) tensor.mutable_data_ptr<double>()[i] = numbers[numbers.size() == 1 ? 0 : i];
  return tensor;
}

DataParts normalize(const Options& spec, const DataContext& context) {
  DataParts parts = open_source(spec.child("source"), context);
  if (parts.state.contains("x.mean")) throw spec.error("source", "the data is normalised already");
  settle(parts);
  const Column* x = parts.train.data->find("x");
  if (!x || x->batch_type() != at::kFloat) throw spec.error("source", "the data has no x of numbers to normalise");
  if (spec.given("mean") != spec.given("std")) throw spec.error("", "expected both mean and std, or neither");
  const auto measured = [&] {
    return x->stored_type() == at::kDouble ? moments_of<double>(parts.train, *x) : moments_of<float>(parts.train, *x);
  };
  const Moments moments = spec.given("mean") ? Moments{given(spec, "mean", *x), given(spec, "std", *x)} : measured();

  // The parts may share one dataset, or not (a test part that the source brings).
  std::map<const Dataset*, std::shared_ptr<const Dataset>> changed;
  const auto apply = [&](Part& part) {
    std::shared_ptr<const Dataset>& result = changed[part.data.get()];
    if (!result) {
      Dataset dataset = *part.data;
      normalize_x(dataset, moments.mean, moments.std);
      result = std::make_shared<const Dataset>(std::move(dataset));
    }
    part.data = result;
  };
  apply(parts.train);
  if (parts.val) apply(*parts.val);
  if (parts.test) apply(*parts.test);
  parts.state["x.mean"] = moments.mean;
  parts.state["x.std"] = moments.std;
  return parts;
}

}  // namespace

void normalize_x(Dataset& dataset, const at::Tensor& mean, const at::Tensor& deviation) {
  const auto in_double = [](const at::Tensor& t) { return t.defined() ? t.to(at::kDouble) : t; };
  for (Column& column : dataset.columns) {
    if (column.name != "x") continue;
    const at::Tensor scale = in_double(column.scale), shift = in_double(column.shift);
    const at::ScalarType type = column.stored_type() == at::kDouble ? at::kDouble : at::kFloat;
    column.scale = (scale.defined() ? scale.div(deviation) : deviation.reciprocal()).to(type);
    column.shift = (shift.defined() ? shift.sub(mean) : mean.neg()).div(deviation).to(type);
  }
}

void register_normalize(Registry& registry) {
  registry.add(
      Entry("data:normalize", "data", "Shifts and scales x to mean 0 and standard deviation 1 over the training part.")
          .with(Option("mean", "known mean of each channel or feature (default: measured)").number().many())
          .with(Option("std", "known standard deviation of each channel or feature (default: measured)")
                    .number()
                    .more_than(0)
                    .many())
          .returns("data")
          .example("lab.data.mnist(\"mnist\"):split { val = 0.1 }:normalize()")
          .note("Acts on each channel of images [C, H, W], and on each feature of flat samples. Comes after split(): "
                "the other parts are shifted and scaled by the training part's numbers. A constant feature is only "
                "shifted. Training is not slowed; images in files are decoded once to measure them, by all cores. A "
                "given mean or std refers to x as the source returns x (0…1 for images). Mean and deviation are stored "
                "in the checkpoint."),
      DataFactory{normalize});
}

}  // namespace trainlab
