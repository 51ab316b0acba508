// data.csv: a table from a CSV file.
#include <algorithm>

#include "core/long_reading.h"
#include "formats/csv.h"
#include "set/input_files.h"
#include "set/sources.h"
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
  options.targets = names(spec, "target");
  options.more = names(spec, "more");
  if (spec.has("text")) options.text = spec.string("text");
  if (spec.has("length")) options.length = spec.integer("length");
  const std::string& task = spec.string("task");
  options.task = task == "regression"       ? Task::regression
                 : task == "classification" ? Task::classification
                                            : Task::automatic;
  options.columns = names(spec, "columns");
  options.exclude = names(spec, "exclude");
  options.categorical = names(spec, "categorical");
  if (!options.columns.empty() && !options.exclude.empty())
    throw spec.error("exclude", "goes without `columns`, which says already which columns are inputs")
        .hint("give one of the two");
  if (!options.text.empty() && (!options.columns.empty() || !options.exclude.empty()))
    throw spec.error("text", "goes without other inputs in x: a column of text is x alone")
        .hint("other inputs are columns of their own: `more`");
  if (options.text.empty() && options.length > 0)
    throw spec.error("length", "goes with the option `text`, which is not given");
  return options;
}

char read_delimiter(const Options& spec) {
  const std::string& delimiter = spec.string("delimiter");
  if (delimiter.size() != 1 || delimiter == "\"" || delimiter == "\n" || delimiter == "\r")
    throw spec.error("delimiter",
                     "expected one character, such as \",\", \";\" or \"\\t\", found " + Value(delimiter).brief());
  return delimiter[0];
}

struct CsvFile {
  std::string path, text;
  CsvText csv;  // of views into text

  CsvFile(const std::string& its_path, char delimiter)
      : path(its_path), text(csv_text_of(path)), csv(read_csv(text, delimiter, path)) {}
};

DataParts make_csv(const Options& spec, const DataContext& context) {
  const TableOptions options = read_options(spec);
  const char delimiter = read_delimiter(spec);
  const LongReading reading(spec.string("path"));
  const auto file =
      placed_at(spec, "path", [&] { return std::make_shared<const CsvFile>(spec.string("path"), delimiter); });
  const auto table = placed_at(spec, "path", [&] {
    Table read = read_table(file->csv, file->path, options);
    read.delimiter = delimiter;
    if (!context.is_appended) read_inputs(read, file->csv, options);
    return std::make_shared<const Table>(std::move(read));
  });

  DataParts parts;
  // Until the training rows are known there is the target only, which is what a split looks at.
  Dataset unsettled;
  unsettled.size = table->rows;
  unsettled.classes = static_cast<std::int64_t>(table->classes.size());
  unsettled.columns = {{"y", table->y, {}, {}}};
  parts.train = whole(std::move(unsettled));
  parts.settle = [spec, context, options, file, table](DataParts& all) {
    std::shared_ptr<const Table> whole_table = table;
    if (context.is_appended) {
      Table read = *table;
      placed_at(spec, "path", [&] { read_inputs(read, file->csv, options); });
      whole_table = std::make_shared<const Table>(std::move(read));
    }
    std::vector<std::string> warnings;
    all.train.data = std::make_shared<const Dataset>(encode(*whole_table, all.train, all.state, warnings));
    for (const std::string& text : warnings) all.warnings.emplace_back(spec.error("path", text).what());
    if (all.val) all.val->data = all.train.data;
    if (all.test) all.test->data = all.train.data;
  };
  parts.encode_as = [options, file, table](const NamedTensors& state, std::vector<std::string>& warnings) {
    return encode_like(*table, options, file->csv, state, warnings);
  };
  parts.lookup = [file](const std::string& column) { return read_column(file->csv, file->path, column); };
  return parts;
}

}  // namespace

void register_source_csv(Registry& registry) {
  registry.add(
      Entry("data.csv", "data", "A table from a CSV file (plain or gzip) whose first line names the columns.")
          .with(Option("path", "the file").path().required().positional())
          .with(Option("target", "the column to predict, or several columns of numbers").string().many().required())
          .with(Option("task", "\"auto\": a regression where the target is a number, else a classification")
                    .choice({"auto", "regression", "classification"})
                    .or_default("auto"))
          .with(Option("columns", "columns to use as inputs (default: every column that no other option names)")
                    .string()
                    .many())
          .with(Option("exclude", "columns not to use as inputs").string().many())
          .with(Option("more", "columns that stay separate inputs: each appears in the batch under its own name")
                    .string()
                    .many())
          .with(Option("text", "a column of text whose characters are x; other columns are then no features").string())
          .with(Option("length", "number of characters of `text` in a sample (default: the length of the longest text)")
                    .integer()
                    .at_least(1)
                    .at_most(1 << 20))
          .with(Option("categorical",
                       "columns to treat as categories although their values look like numbers (codes, years)")
                    .string()
                    .many())
          .with(Option("delimiter", "the character between fields").string().or_default(","))
          .returns(
              "x [features] and, in a regression, y [targets] in the type of the fit; y int64 in a classification; "
              "one training part")
          .example("lab.data.csv { \"houses.csv\", target = \"price\" }:split { val = 0.2 }:normalize()")
          .note(
              "A column holds numbers when its first value that is not missing is a number. Where this value is none, "
              "and at least nine tenths of the values below it are, the column is refused unless `categorical` names "
              "it. Any other column holds categories and gives a 0/1 feature for each category, in sorted order. "
              "Missing values are empty fields, NA and nan: a missing number becomes the mean of its column, and a "
              "missing category counts as a category of its own. Means and categories are taken from the training "
              "part; for a category that the training part lacks all features of the column are 0. Classes are the "
              "target's distinct values, sorted. The distinct characters of `text` in the whole file are sorted and "
              "numbered from 1; a shorter text is filled up with zeros at its front, a longer text is cut at its end."),
      DataFactory{make_csv});
}

}  // namespace trainlab
