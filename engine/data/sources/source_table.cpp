// data.table and data.tensors: data that a recipe holds or makes itself.
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

#include "core/callable.h"
#include "core/words.h"
#include "set/arrays.h"
#include "set/sources.h"
#include "tensor/tensor_object.h"

namespace trainlab {

namespace {

// Nested lists of numbers as one array.
class ListReader {
 public:
  explicit ListReader(const Value& list) {
    for (const Value* level = &list; level->is_list() && !level->list().empty(); level = &level->list()[0])
      shape_.push_back(static_cast<std::int64_t>(level->list().size()));
    read(list, 0, "");
  }

  at::Tensor floats() const {
    at::Tensor tensor = at::empty(shape_, at::kDouble);
    std::copy(numbers_.begin(), numbers_.end(), tensor.mutable_data_ptr<double>());
    for (const double number : numbers_) {
      if (!std::isfinite(static_cast<float>(number)))
        throw recipe_error(number_text(number) + " is not finite in float32");
    }
    return narrow_exactly(tensor);
  }

  at::Tensor labels() const {
    at::Tensor tensor = at::empty(shape_, at::kLong);
    auto* value = tensor.mutable_data_ptr<std::int64_t>();
    for (const double number : numbers_) {
      if (number < 0 || number != std::floor(number) || number > 1e15)
        throw recipe_error("expected classes, whole numbers from 0, found " + number_text(number));
      *value++ = static_cast<std::int64_t>(number);
    }
    return tensor;
  }

 private:
  void read(const Value& value, std::size_t depth, const std::string& place) {
    if (depth == shape_.size()) {
      if (!value.is_number()) throw recipe_error("expected a number" + place + ", found " + value.brief());
      numbers_.push_back(value.number());
      return;
    }
    if (!value.is_list() || static_cast<std::int64_t>(value.list().size()) != shape_[depth]) {
      throw recipe_error("expected a list of " + std::to_string(shape_[depth]) + place + ", as the first is, found " +
                         value.brief());
    }
    for (std::size_t i = 0; i < value.list().size(); ++i)
      read(value.list()[i], depth + 1, (place.empty() ? " at [" : place + "[") + std::to_string(i + 1) + "]");
  }

  Shape shape_;
  std::vector<double> numbers_;
};

DataParts make_table(const Options& spec, const DataContext&) {
  std::vector<NamedArray> arrays;
  const auto add = [&](std::string_view option, const std::string& column, const Value& list, bool classes) {
    placed_at(spec, option, [&] {
      if (!list.is_list() || list.list().empty())
        throw recipe_error("expected a list with an element for each sample, found " + list.brief());
      const ListReader reader(list);
      arrays.push_back({column, classes ? reader.labels() : reader.floats(), column});
    });
  };
  add("x", "x", spec.get("x"), false);
  if (spec.has("y")) add("y", "y", spec.get("y"), spec.string("task") == "classification");
  if (spec.has("more")) {
    const Value& more = spec.get("more");
    if (!more.is_map()) throw spec.error("more", "expected a table of columns by name, found " + more.brief());
    for (const auto& [name, list] : more.map()) add("more", name, list, false);
  }
  return placed_at(spec, "", [&] {
    DataParts parts;
    parts.train = whole(dataset_of(arrays));
    return parts;
  });
}

DataParts make_tensors(const Options& spec, const DataContext& context) {
  const auto load = spec.function("load");
  load->rekey(Key(static_cast<std::uint64_t>(context.seed)).fold("data.tensors"));
  const std::vector<Argument> results = load->call({});
  const Value::List& names = spec.get("columns").list();
  return placed_at(spec, "load", [&] {
    if (results.size() != names.size()) {
      throw recipe_error("expected " + std::to_string(names.size()) + " tensors from the function at " + load->where() +
                         ", one for each of `columns`, found " + std::to_string(results.size()) + " values");
    }
    std::vector<NamedArray> arrays;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto* object = std::get_if<std::shared_ptr<Object>>(&results[i]);
      const auto tensor = object ? std::dynamic_pointer_cast<TensorObject>(*object) : nullptr;
      const std::string what = "result " + std::to_string(i + 1) + " of the function at " + load->where();
      if (!tensor) {
        throw recipe_error(what + ": expected a tensor, found " +
                           (object ? with_article((*object)->type_name()) : std::get<Value>(results[i]).brief()))
            .hint("lab.tensor { … } makes one of lists of numbers");
      }
      // A copy: the recipe may change its own.
      arrays.push_back({names[i].string(), tensor->tensor.detach().cpu().clone(), what});
    }
    DataParts parts;
    parts.train = whole(dataset_of(arrays));
    return parts;
  });
}

}  // namespace

void register_source_table(Registry& registry) {
  registry.add(
      Entry("data.table", "data", "A small data set written in the recipe, as lists of numbers.")
          .with(Option("x", "inputs: a list that holds, for each sample, a number or a (nested) list of numbers")
                    .any()
                    .required())
          .with(Option("y",
                       "targets: a list with an element for each sample; without this option the data has no targets")
                    .any())
          .with(Option("more", "further columns by name: { mask = { … } }").any())
          .with(Option("task", "\"classification\": y holds classes, whole numbers from 0")
                    .choice({"regression", "classification"})
                    .or_default("regression"))
          .returns("x, y and more in the type of the fit, y int64 in a classification; one training part")
          .example("lab.data.table { x = { {0, 0}, {0, 1}, {1, 0}, {1, 1} }, y = { 0, 1, 1, 0 }, "
                   "task = \"classification\" }"),
      DataFactory{make_table});
  registry.add(Entry("data.tensors", "data", "A data set that a function of the recipe makes, as tensors.")
                   .with(Option("load", "called once, when the data is opened; returns a tensor for each column")
                             .function("function() → tensor, tensor, …")
                             .required()
                             .positional())
                   .with(Option("columns", "names of the tensors that `load` returns, in order")
                             .string()
                             .many()
                             .or_default(Value::List{"x", "y"}))
                   .returns("the columns: floats as float32, whole numbers as int64; one training part")
                   .example("lab.data.tensors(function()\n"
                            "  local x = lab.tensor.randn({ 256, 4 }, { seed = 1 })\n"
                            "  return x, x:sum(1)\n"
                            "end)")
                   .note("The first axis counts the samples. Dtypes are converted as by data.npy. Random numbers "
                         "drawn in `load` follow the run's seed. The function is called again when a run is resumed: "
                         "it must return the same tensors each time."),
               DataFactory{make_tensors});
}

}  // namespace trainlab
