#include "table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>

#include <ATen/ops/empty.h>

#include "core/words.h"
#include "data/tokenizer.h"
#include "formats/fields.h"
#include "set/arrays.h"

namespace trainlab {

namespace {

class TableReader {
 public:
  TableReader(const CsvText& csv, const std::string& file, const TableOptions& options)
      : csv_(csv), file_(file), options_(options) {}

  Table read() {
    Table table;
    table.file = file_;
    table.rows = csv_.rows();
    table.targets = options_.targets;
    const Places of = places();
    if (of.targets.size() == 1) {
      read_target(table, of.targets.front());
    } else {
      read_targets(table, of.targets);
    }
    return table;
  }

  void read_inputs(Table& table) {
    const Places of = places();
    for (const std::size_t column : of.more) table.more.push_back(input(column));
    for (const std::size_t column : of.inputs) table.inputs.push_back(input(column));
    if (!options_.text.empty()) read_text(table, of.text);
  }

  at::Tensor column(std::size_t place) const {
    at::Tensor values = at::empty({csv_.rows()}, at::kDouble);
    auto* value = values.mutable_data_ptr<double>();
    if (looks_numeric(place)) {
      for (const double number : numbers(place)) *value++ = number;
      return values;
    }
    std::vector<std::string> distinct;
    std::vector<std::int32_t> codes;
    categories(place, distinct, codes);
    for (const std::int32_t code : codes) *value++ = code < 0 ? std::numeric_limits<double>::quiet_NaN() : code;
    return values;
  }

 private:
  struct Places {
    std::vector<std::size_t> targets, more, inputs;
    std::size_t text = 0;  // where the option `text` is given
  };

  // Where the columns stand that the options name.
  Places places() const {
    Places all;
    std::vector<std::size_t> taken;  // columns that are no features of x
    const auto take = [&](const std::vector<std::string>& names, const char* option) {
      std::vector<std::size_t> found;
      for (const std::string& name : names) {
        found.push_back(place_of(name, option));
        if (std::find(taken.begin(), taken.end(), found.back()) != taken.end())
          throw recipe_error(file_ + ": `" + option + "` names " + in_quotes(name) + ", which is used already");
        taken.push_back(found.back());
      }
      return found;
    };
    all.targets = take(options_.targets, "target");
    for (const std::string& name : options_.categorical) place_of(name, "categorical");
    all.more = take(options_.more, "more");
    if (options_.text.empty()) {
      all.inputs = inputs(taken);
    } else {
      all.text = take({options_.text}, "text").front();
    }
    return all;
  }

  std::size_t place_of(const std::string& name, const std::string& option) const {
    const auto found = std::find(csv_.header.begin(), csv_.header.end(), name);
    if (found != csv_.header.end()) return static_cast<std::size_t>(found - csv_.header.begin());
    Error error = recipe_error(file_ + ": there is no column " + in_quotes(name) + ", which `" + option + "` names");
    if (csv_.header.size() == 1)
      throw error.hint("the only column is " + in_quotes(csv_.header[0]) + ": is the delimiter another one?");
    const std::string close = Registry::closest(name, csv_.header);
    if (!close.empty()) throw error.hint("did you mean \"" + close + "\"?");
    const bool names_a_number =
        std::ranges::any_of(csv_.header, [](const auto& one) { return number_in(one).has_value(); });
    throw error.hint("the columns are " + joined_start(csv_.header, 20) +
                     (names_a_number ? "; if that line is data, put a line with the columns' names above it" : ""));
  }

  std::vector<std::size_t> inputs(const std::vector<std::size_t>& taken) const {
    std::vector<std::size_t> all;
    std::set<std::size_t> excluded(taken.begin(), taken.end());
    for (const std::string& name : options_.exclude) excluded.insert(place_of(name, "exclude"));
    if (options_.columns.empty()) {
      for (std::size_t i = 0; i < csv_.header.size(); ++i)
        if (!excluded.contains(i)) all.push_back(i);
    }
    for (const std::string& name : options_.columns) {
      const std::size_t column = place_of(name, "columns");
      const auto& targets = options_.targets;
      if (std::find(targets.begin(), targets.end(), name) != targets.end())
        throw recipe_error(file_ + ": the target " + in_quotes(name) + " cannot be an input too");
      if (std::find(taken.begin(), taken.end(), column) != taken.end())
        throw recipe_error(file_ + ": `columns` and `more` both name " + in_quotes(name));
      if (std::find(all.begin(), all.end(), column) != all.end())
        throw recipe_error(file_ + ": `columns` names " + in_quotes(name) + " twice");
      all.push_back(column);
    }
    if (all.empty())
      throw recipe_error(file_ + ": no column is left beside the target " + in_quotes(options_.targets.front()));
    return all;
  }

  Error wrong(std::int64_t row, std::size_t column, const std::string& text) const {
    return recipe_error(file_ + ":" + std::to_string(csv_.lines[static_cast<std::size_t>(row)]) + ": column " +
                        in_quotes(csv_.header[column]) + ": " + text);
  }

  bool is_categorical(std::size_t column) const {
    return std::ranges::find(options_.categorical, csv_.header[column]) != options_.categorical.end();
  }

  // A column is one of numbers when the first value that is not missing is a number. `is_named`: the recipe says that
  // the column holds categories.
  bool looks_numeric(std::size_t column, bool is_named = false) const {
    for (std::int64_t row = 0; row < csv_.rows(); ++row)
      if (const std::string_view field = csv_.field(row, column); !is_missing(field)) {
        if (!is_named) refuse_commas(row, column);
        return number_in(field).has_value();
      }
    throw recipe_error(file_ + ": column " + in_quotes(csv_.header[column]) + " has no values at all")
        .hint("name it in `exclude`");
  }

  // A column of such numbers would be taken for one of categories. `first`: the first row that is not missing.
  void refuse_commas(std::int64_t first, std::size_t column) const {
    const std::optional<std::string> meant = without_commas(csv_.field(first, column));
    if (!meant) return;
    for (std::int64_t row = first; row < csv_.rows(); ++row) {
      const std::string_view field = csv_.field(row, column);
      if (!is_missing(field) && !number_in(field) && !without_commas(field)) return;
    }
    throw wrong(first, column, "expected numbers without commas, found " + in_quotes(csv_.field(first, column)))
        .hint("this one is written as " + *meant + "; a column of categories is named in `categorical`");
  }

  // looks_numeric() for a column of a batch. A first value that is no number, such as "?", would make a column of
  // numbers one of categories.
  bool is_numeric(std::size_t column, bool is_named = false) const {
    const bool looks = looks_numeric(column, is_named);
    if (!looks && !is_named) refuse_mark(column);
    return looks;
  }

  void refuse_mark(std::size_t column) const {
    std::int64_t first = 0, others = 0, numbers = 0;
    while (is_missing(csv_.field(first, column))) ++first;
    for (std::int64_t row = first + 1; row < csv_.rows(); ++row) {
      const std::string_view field = csv_.field(row, column);
      if (is_missing(field)) continue;
      ++others;
      if (number_in(field)) ++numbers;
    }
    if (numbers == 0 || numbers * 10 < others * 9) return;
    throw wrong(
        first, column,
        "expected a number, as nearly all values below are, found " + in_quotes(valid_utf8(csv_.field(first, column))))
        .hint("an unknown value is an empty field or NA; a column of categories is named in `categorical`");
  }

  double number(std::int64_t row, std::size_t column) const {
    const std::string_view field = csv_.field(row, column);
    const std::optional<double> number = number_in(field);
    if (!number) {
      const std::optional<std::string> meant = without_commas(field);
      throw wrong(row, column, "expected a number, found " + in_quotes(field))
          .hint(meant ? "write it as " + *meant
                      : "the column's first value is a number; `categorical = { \"" + csv_.header[column] +
                            "\" }` makes it one of categories");
    }
    if (!(std::fabs(*number) <= std::numeric_limits<float>::max()))
      throw wrong(row, column, in_quotes(field) + " is not finite or too large for float32");
    return *number;
  }

  std::vector<double> numbers(std::size_t column) const {
    std::vector<double> all;
    for (std::int64_t row = 0; row < csv_.rows(); ++row) {
      const bool missing = is_missing(csv_.field(row, column));
      all.push_back(missing ? std::numeric_limits<double>::quiet_NaN() : number(row, column));
    }
    return all;
  }

  // Categories and names are stored with the model as text.
  Error not_utf8(std::size_t column, std::string_view value) const {
    std::int64_t row = 0;
    while (csv_.field(row, column) != value) ++row;
    return wrong(row, column, "expected text in UTF-8, found " + in_quotes(valid_utf8(value)))
        .hint("save the file as UTF-8");
  }

  void require_utf8_name(std::size_t column) const {
    const std::string& name = csv_.header[column];
    if (valid_utf8(name) == name) return;
    throw recipe_error(file_ + ": column " + std::to_string(column + 1) + ": expected a name in UTF-8, found " +
                       in_quotes(valid_utf8(name)))
        .hint("save the file as UTF-8");
  }

  // Distinct values in order (numbers by value, where all are) and each row's place among them.
  void categories(std::size_t column, std::vector<std::string>& values, std::vector<std::int32_t>& codes) const {
    std::map<std::string_view, std::int32_t> found;
    for (std::int64_t row = 0; row < csv_.rows(); ++row)
      if (const std::string_view field = csv_.field(row, column); !is_missing(field)) found.emplace(field, 0);
    std::vector<std::string_view> sorted;
    bool all_numbers = true;
    for (const auto& [value, code] : found) {
      if (valid_utf8(value) != value) throw not_utf8(column, value);
      sorted.push_back(value);
      all_numbers = all_numbers && number_in(value);
    }
    if (all_numbers) {
      std::stable_sort(sorted.begin(), sorted.end(),
                       [](std::string_view a, std::string_view b) { return *number_in(a) < *number_in(b); });
    }
    for (const std::string_view value : sorted) {
      found[value] = static_cast<std::int32_t>(values.size());
      values.emplace_back(value);
    }
    for (std::int64_t row = 0; row < csv_.rows(); ++row) {
      const std::string_view field = csv_.field(row, column);
      codes.push_back(is_missing(field) ? -1 : found[field]);
    }
  }

  TableColumn input(std::size_t column) const {
    require_utf8_name(column);
    TableColumn result;
    result.name = csv_.header[column];
    result.is_named = is_categorical(column);
    if (is_numeric(column, result.is_named) && !result.is_named) {
      result.numbers = numbers(column);
    } else {
      categories(column, result.values, result.codes);
    }
    return result;
  }

  static bool all_are_numbers(const std::vector<std::string>& values) {
    return std::ranges::all_of(values, [](const std::string& value) { return number_in(value).has_value(); });
  }

  void require_all(std::size_t column) const {
    require_utf8_name(column);
    for (std::int64_t row = 0; row < csv_.rows(); ++row)
      if (is_missing(csv_.field(row, column))) throw wrong(row, column, "the target is missing");
  }

  void read_text(Table& table, std::size_t column) const {
    table.text_name = options_.text;
    std::size_t longest = 0;
    for (std::int64_t row = 0; row < csv_.rows(); ++row) {
      const std::string_view field = csv_.field(row, column);
      if (field.empty()) throw wrong(row, column, "the text is empty");
      const auto characters = static_cast<std::size_t>(std::count_if(
          field.begin(), field.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
      longest = std::max(longest, characters);
      table.text.emplace_back(field);
    }
    table.text_length = options_.length > 0 ? options_.length : static_cast<std::int64_t>(longest);
  }

  // Several: a regression on all of them.
  void read_targets(Table& table, const std::vector<std::size_t>& columns) const {
    if (options_.task == Task::classification)
      throw recipe_error(file_ + ": a classification has one target, found " + std::to_string(columns.size()));
    table.y = at::empty({table.rows, static_cast<std::int64_t>(columns.size())}, at::kDouble);
    auto* y = table.y.mutable_data_ptr<double>();
    for (const std::size_t column : columns) {
      require_all(column);
      if (!is_numeric(column))
        throw wrong(0, column, "several targets are numbers, found " + in_quotes(csv_.field(0, column)));
    }
    for (std::int64_t row = 0; row < table.rows; ++row)
      for (const std::size_t column : columns) *y++ = number(row, column);
    table.y = narrow_exactly(table.y);
  }

  void read_target(Table& table, std::size_t column) const {
    require_all(column);
    const bool is_class =
        options_.task == Task::classification || (options_.task == Task::automatic && is_categorical(column));
    const bool numeric = !is_class && is_numeric(column);
    if (options_.task == Task::regression && !numeric) {
      throw wrong(0, column, "a regression's target is a number, found " + in_quotes(csv_.field(0, column)))
          .hint("task = \"classification\" takes text");
    }
    if (!numeric) {
      std::vector<std::int32_t> codes;
      categories(column, table.classes, codes);
      if (std::ssize(table.classes) > most_classes) {
        throw recipe_error(file_ + ": column " + in_quotes(csv_.header[column]) + ": " +
                           std::to_string(table.classes.size()) + " different targets, expected at most " +
                           std::to_string(most_classes) + " classes")
            .hint(all_are_numbers(table.classes) ? "task = \"regression\" takes numbers"
                                                 : "is another column the target?");
      }
      table.y = at::empty({table.rows}, at::kLong);
      std::copy(codes.begin(), codes.end(), table.y.mutable_data_ptr<std::int64_t>());
      return;
    }
    table.y = at::empty({table.rows, 1}, at::kDouble);
    auto* y = table.y.mutable_data_ptr<double>();
    for (std::int64_t row = 0; row < table.rows; ++row) y[row] = number(row, column);
    table.y = narrow_exactly(table.y);
  }

  const CsvText& csv_;
  const std::string& file_;
  const TableOptions& options_;
};

// The features of an input: one feature, or one for each category.
struct Feature {
  std::string name;
  const TableColumn* column;
  std::int32_t code = 0;  // the category that this feature stands for
  double fill = 0;        // of numbers
};

double mean_over(const TableColumn& column, const Part& train, const std::string& file) {
  double sum = 0;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < train.size(); ++i) {
    const double number = column.numbers[static_cast<std::size_t>(train.row(i))];
    if (std::isnan(number)) continue;
    sum += number;
    ++count;
  }
  if (count == 0)
    throw recipe_error(file + ": column " + in_quotes(column.name) + " has no values in the rows that train")
        .hint("name it in `exclude`");
  return sum / static_cast<double>(count);
}

// A sentence on a column in which most values are categories of their own: identifiers, times, numbers with a unit.
std::optional<std::string> warning_of_categories(const TableColumn& column, std::int64_t rows, std::size_t features) {
  constexpr std::int64_t fewest_rows = 50;
  if (column.is_number() || column.is_named || rows < fewest_rows || 2 * std::ssize(column.values) <= rows) return {};
  return "column " + in_quotes(column.name) + ": " + std::to_string(column.values.size()) + " different values in " +
         std::to_string(rows) + " rows become " + std::to_string(features) +
         " features; name it in `exclude`, or in `categorical` if this is meant";
}

// The columns as one tensor [rows, features]; `described` receives the values that are needed to encode other rows in
// the same way.
at::Tensor features_of(std::span<const TableColumn> columns, const Table& table, const Part& train,
                       std::vector<std::string>& names, Value::List& described, std::vector<std::string>& warnings) {
  std::vector<Feature> features;
  for (const TableColumn& column : columns) {
    if (column.is_number()) {
      const double fill = mean_over(column, train, table.file);
      features.push_back({column.name, &column, 0, fill});
      described.push_back(Value::Map{{"name", column.name}, {"fill", fill}});
      continue;
    }
    std::set<std::int32_t> codes;
    for (std::int64_t i = 0; i < train.size(); ++i) codes.insert(column.codes[static_cast<std::size_t>(train.row(i))]);
    Value::List categories;
    const bool missing = codes.erase(-1) > 0;
    for (const std::int32_t code : codes) {
      const std::string& value = column.values[static_cast<std::size_t>(code)];
      features.push_back({column.name + "=" + value, &column, code});
      categories.push_back(value);
    }
    if (missing) features.push_back({column.name + "=(missing)", &column, -1});
    if (const auto warning = warning_of_categories(column, table.rows, codes.size() + (missing ? 1 : 0)))
      warnings.push_back(table.file + ": " + *warning);
    described.push_back(Value::Map{{"name", column.name}, {"categories", categories}, {"missing", missing}});
  }

  at::Tensor x = at::empty({table.rows, static_cast<std::int64_t>(features.size())}, at::kDouble);
  auto* value = x.mutable_data_ptr<double>();
  for (const Feature& feature : features) names.push_back(feature.name);
  for (std::size_t row = 0; row < static_cast<std::size_t>(table.rows); ++row) {
    for (const Feature& feature : features) {
      if (feature.column->is_number()) {
        const double number = feature.column->numbers[row];
        *value++ = std::isnan(number) ? feature.fill : number;
      } else {
        *value++ = feature.column->codes[row] == feature.code ? 1 : 0;
      }
    }
  }
  return narrow_exactly(x);
}

Column text_column(const Table& table, NamedTensors& state) {
  const std::string name = table.file + ": column " + in_quotes(table.text_name);
  std::string all;
  for (const std::string& line : table.text) all += line;
  const Tokenizer tokenizer = Tokenizer::characters(all, name);
  at::Tensor x = at::empty({table.rows, table.text_length}, at::kInt);
  auto* row = x.mutable_data_ptr<std::int32_t>();
  for (const std::string& line : table.text) {
    put_text(tokenizer.encode(line, name), row, table.text_length);
    row += table.text_length;
  }
  tokenizer.store(state);
  return {"x", x, {}, {}, /*as_int64=*/true};
}

}  // namespace

void put_text(std::vector<std::int32_t> tokens, std::int32_t* row, std::int64_t length) {
  tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(length)));
  std::fill_n(row, length, 0);
  std::transform(tokens.rbegin(), tokens.rend(), std::reverse_iterator(row + length),
                 [](std::int32_t token) { return token + 1; });
}

Table read_table(const CsvText& csv, const std::string& file, const TableOptions& options) {
  return TableReader(csv, file, options).read();
}

void read_inputs(Table& table, const CsvText& csv, const TableOptions& options) {
  TableReader(csv, table.file, options).read_inputs(table);
}

at::Tensor read_column(const CsvText& csv, const std::string& file, const std::string& column) {
  const auto found = std::find(csv.header.begin(), csv.header.end(), column);
  if (found == csv.header.end()) return {};
  const TableOptions none;
  return TableReader(csv, file, none).column(static_cast<std::size_t>(found - csv.header.begin()));
}

Dataset encode(const Table& table, const Part& train, NamedTensors& state, std::vector<std::string>& warnings) {
  Dataset dataset;
  dataset.size = table.rows;
  dataset.classes = static_cast<std::int64_t>(table.classes.size());
  dataset.class_names = table.classes;
  Value::Map described;
  if (table.text.empty()) {
    Value::List inputs;
    const at::Tensor x = features_of(table.inputs, table, train, dataset.feature_names, inputs, warnings);
    dataset.columns.push_back({"x", x, {}, {}});
    described["inputs"] = std::move(inputs);
  } else {
    dataset.columns.push_back(text_column(table, state));
    described["text"] = Value::Map{{"name", table.text_name}, {"length", table.text_length}};
  }
  dataset.columns.push_back({"y", table.y, {}, {}});
  Value::List more;
  for (const TableColumn& column : table.more) {
    if (dataset.find(column.name))
      throw recipe_error(table.file + ": `more` names a column " + in_quotes(column.name) +
                         ", which a batch has already");
    std::vector<std::string> names;
    dataset.columns.push_back({column.name, features_of({&column, 1}, table, train, names, more, warnings), {}, {}});
  }
  if (!more.empty()) described["more"] = std::move(more);

  const Value::List targets(table.targets.begin(), table.targets.end());
  const Value::List classes(table.classes.begin(), table.classes.end());
  described["target"] = Value::Map{{"names", targets}, {"classes", classes}};
  described["delimiter"] = std::string(1, table.delimiter);
  const std::string text = to_json(Value(std::move(described)));
  at::Tensor bytes = at::empty({static_cast<std::int64_t>(text.size())}, at::kByte);
  std::copy(text.begin(), text.end(), bytes.mutable_data_ptr<std::uint8_t>());
  state["table"] = bytes;
  return dataset;
}

}  // namespace trainlab
