// data.csv: a table from a CSV file.
#include <algorithm>

#include "input_file.h"
#include "sources.h"
#include "table.h"

namespace trainlab {

namespace {

std::vector<std::string> names(const Options& spec, std::string_view option) {
  std::vector<std::string> all;
  if (!spec.has(option)) return all;
  for (const Value& name : spec.get(option).list()) all.push_back(name.string());
  return all;
}

TableOptions read_options(const Options& spec) {
  TableOptions options;
  options.target = spec.string("target");
  const std::string& task = spec.string("task");
  options.task = task == "regression"       ? Task::regression
                 : task == "classification" ? Task::classification
                                            : Task::automatic;
  options.columns = names(spec, "columns");
  options.exclude = names(spec, "exclude");
  options.categorical = names(spec, "categorical");
  if (!options.columns.empty() && !options.exclude.empty())
    throw spec.error("exclude", "`columns` says already which columns are inputs").hint("give one of the two");
  const std::string& delimiter = spec.string("delimiter");
  if (delimiter.size() != 1 || delimiter == "\"" || delimiter == "\n" || delimiter == "\r")
    throw spec.error("delimiter",
                     "expected one character, such as \",\", \";\" or \"\\t\", found " + Value(delimiter).brief());
  options.delimiter = delimiter[0];
  return options;
}

DataParts make_csv(const Options& spec, const DataContext&) {
  const TableOptions options = read_options(spec);
  const std::string& path = spec.string("path");
  const auto table = placed_at(
      spec, "path", [&] { return std::make_shared<const Table>(read_table(read_text(path), path, options)); });

  DataParts parts;
  // Until the training rows are known there is the target only, which is what a split looks at.
  Dataset unsettled;
  unsettled.size = table->rows;
  unsettled.classes = static_cast<std::int64_t>(table->classes.size());
  unsettled.columns = {{"y", table->y, {}, {}}};
  parts.train = whole(std::move(unsettled));
  parts.settle = [table](DataParts& all) {
    all.train.data = std::make_shared<const Dataset>(encode(*table, all.train, all.state));
    if (all.val) all.val->data = all.train.data;
    if (all.test) all.test->data = all.train.data;
  };
  return parts;
}

}  // namespace

void register_csv(Registry& registry) {
  registry.add(
      Entry("data.csv", "data", "A table from a CSV file (plain or gzip) whose first line names the columns.")
          .with(Option("path", "the file").path().required().positional())
          .with(Option("target", "the column to predict").string().required())
          .with(Option("task", "\"auto\": a regression where the target is a number, else a classification")
                    .choice({"auto", "regression", "classification"})
                    .or_default("auto"))
          .with(Option("columns", "columns to use as inputs; all but the target unless given").string().many())
          .with(Option("exclude", "columns not to use as inputs").string().many())
          .with(Option("categorical", "columns of categories though they look like numbers (codes, years)")
                    .string()
                    .many())
          .with(Option("delimiter", "the character between fields").string().or_default(","))
          .returns("x float32 [features]; y float32 [1] in a regression, int64 in a classification; one training part")
          .example("lab.data.csv { \"houses.csv\", target = \"price\" }:split { val = 0.2 }:normalize()")
          .note("A column is one of numbers when its first value that is not missing is a number, else one of "
                "categories, which gives a 0/1 feature for each category, in sorted order. Missing values are empty "
                "fields, NA and nan: numbers become the mean of the column, for categories \"missing\" is one of its "
                "own. Means and categories are taken from the training part; a category that is not found there is 0 "
                "in all its features. Classes are the target's distinct values, sorted."),
      DataFactory{make_csv});
}

}  // namespace trainlab
