// data:map.
#include <ATen/ops/concat.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "core/function_error.h"
#include "loader/row_gather.h"
#include "set/arrays.h"
#include "set/sources.h"
#include "tensor/tensor_object.h"

namespace trainlab {

namespace {

constexpr std::int64_t rows_at_once = 1024;

at::Tensor call(Callable& function, const at::Tensor& rows) {
  const std::vector<Argument> arguments{std::shared_ptr<Object>(std::make_shared<TensorObject>(rows))};
  const std::vector<Argument> results = function.call(arguments);
  const auto* given = results.size() == 1 ? std::get_if<std::shared_ptr<Object>>(&results[0]) : nullptr;
  const auto result = given ? std::dynamic_pointer_cast<TensorObject>(*given) : nullptr;
  if (!result || !result->tensor.defined())
    throw function_error(function, "the function of data:map gives back a tensor, a row for each row");
  const at::Tensor& tensor = result->tensor;
  if (tensor.dim() == 0 || tensor.size(0) != rows.size(0)) {
    throw function_error(function, "the function of data:map was given " + std::to_string(rows.size(0)) + " rows, " +
                                       shape_text(rows.sizes()) + ", and gave back " + shape_text(tensor.sizes()));
  }
  return tensor.detach().to(at::kCPU).contiguous();
}

// The column of all samples, mapped. What the function draws is keyed by the rows, not by the order of calls.
at::Tensor mapped(const Dataset& data, const Column& column, Callable& function, Key key) {
  std::vector<at::Tensor> pieces;
  const RowGather gather(column, column.stored_type() == at::kDouble ? at::kDouble : at::kFloat);
  for (std::int64_t first = 0; first < data.size; first += rows_at_once) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(std::min(rows_at_once, data.size - first)));
    std::iota(rows.begin(), rows.end(), first);
    Shape sizes = gather.sample_shape();
    sizes.insert(sizes.begin(), static_cast<std::int64_t>(rows.size()));
    const at::Tensor piece = at::empty(sizes, gather.type());
    gather.copy(rows, static_cast<std::byte*>(piece.mutable_data_ptr()));
    function.rekey(key.fold(static_cast<std::uint64_t>(first)));
    pieces.push_back(call(function, piece));
  }
  return at::concat(pieces).contiguous();
}

// y is something else than the source said: whole numbers are classes, as in other sources of arrays.
void recount_classes(const std::map<const Dataset*, std::shared_ptr<Dataset>>& changed, const std::string& from) {
  Dataset all;
  for (const auto& [before, dataset] : changed) {
    const at::Tensor& y = dataset->find("y")->values;
    if (y.scalar_type() == at::kLong && y.numel() > 0) count_classes(all, y, from);
  }
  for (const auto& [before, dataset] : changed) {
    dataset->classes = all.classes;
    dataset->lowest_label = all.lowest_label;
    dataset->highest_mark = all.highest_mark;
    dataset->class_names.clear();
  }
}

DataParts map(const Options& spec, const DataContext& context) {
  DataParts parts = open_source(spec.child("source"), context);
  settle(parts);
  const std::string& name = spec.string("column");
  const std::shared_ptr<Callable> function = spec.function("run");
  if (parts.train.augmentation)
    throw spec.error("source", "the data is augmented already").hint("write :map before :augment");
  if (name == "x" && parts.state.contains("x.mean"))
    throw spec.error("source", "the data is normalised already").hint("write :map before :normalize()");
  const Key key = Key(static_cast<std::uint64_t>(context.seed)).fold("data:map").fold(name);
  std::map<const Dataset*, std::shared_ptr<Dataset>> changed;
  const auto apply = [&](Part& part) {
    std::shared_ptr<Dataset>& result = changed[part.data.get()];
    if (!result) {
      Dataset dataset = *part.data;
      const Column* old = dataset.find(name);
      if (!old) {
        std::vector<std::string> names;
        for (const Column& column : dataset.columns) names.push_back(column.name);
        Error error = spec.error("column", "the data has no column \"" + name + "\"");
        throw error.hint("it has " + std::accumulate(std::next(names.begin()), names.end(), names[0],
                                                     [](std::string a, const std::string& b) { return a + ", " + b; }));
      }
      Column column{name, with_torch_errors([&] { return mapped(dataset, *old, *function, key); }), {}, {}};
      dataset.columns[static_cast<std::size_t>(old - dataset.columns.data())] = std::move(column);
      result = std::make_shared<Dataset>(std::move(dataset));
    }
    part.data = result;
  };
  apply(parts.train);
  if (parts.val) apply(*parts.val);
  if (parts.test) apply(*parts.test);
  parts.encode_as = nullptr;
  if (name == "y") recount_classes(changed, "what the function of data:map at " + function->where() + " gave");
  return parts;
}

}  // namespace

void register_map(Registry& registry) {
  registry.add(
      Entry("data:map", "data",
            "Passes a column of all parts through a function of the recipe, once, when the data is opened.")
          .with(Option("column", "name of the column").string().required().positional())
          .with(Option("run", "called with a tensor of n rows, [n, …]; returns a tensor of n rows")
                    .function("function(rows) → rows")
                    .required()
                    .positional())
          .returns("data")
          .example("data:map(\"x\", function(rows) return rows:log1p() end)")
          .note("The function gets up to 1024 rows at a time; the result is kept in memory. Shape and dtype of a row "
                "may change; a float64 column stays float64, and its batches have the type of the fit. Whole numbers "
                "in a new y are classes from 0 without names, and the number of classes is the largest + 1; numbers "
                "below 0 and from 1,000,000 on mark what does not count (ignore_index); floats in a new y are the "
                "targets of a regression. "
                "math.random is keyed by (seed, rows). "
                ":pack is not possible after :map: a cache cannot be checked against a function."),
      DataFactory{map});
}

}  // namespace trainlab
