// Encodes new rows for a trained model with the values learnt from its training rows.
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "core/registry.h"
#include "core/words.h"
#include "data/tokenizer.h"
#include "formats/fields.h"
#include "set/arrays.h"
#include "table.h"

namespace trainlab {

namespace {

// The categories of one column that training did not have.
struct UnknownCategories {
  std::vector<std::string_view> values = {};  // distinct, in the order of the file
  std::int64_t first_row = 0, rows = 0;

  void add(std::string_view field, std::int64_t row) {
    if (rows++ == 0) first_row = row;
    const std::string_view value = is_missing(field) ? std::string_view() : field;
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
};

// "red", "blue", …; the empty one is that of missing values.
std::string shown(const std::vector<std::string_view>& values) {
  constexpr std::size_t most = 10;
  std::string text;
  for (std::size_t i = 0; i < values.size() && i < most; ++i)
    text += (i ? ", " : "") + (values[i].empty() ? "(missing)" : in_quotes(values[i]));
  return text + (values.size() > most ? ", …" : "");
}

class NewRows {
 public:
  NewRows(const CsvText& csv, const std::string& file, const NamedTensors& state, std::vector<std::string>& warnings)
      : csv_(csv), file_(file), state_(state), table_(stored_table(state)), warnings_(warnings) {}

  const Value& table() const { return table_; }

  Dataset encode() {
    require_columns();
    Dataset dataset;
    dataset.size = csv_.rows();
    if (const Value& inputs = table_["inputs"]; inputs.is_list()) {
      dataset.columns.push_back({"x", features(inputs.list()), {}, {}});
    } else {
      dataset.columns.push_back({"x", texts(), {}, {}, /*as_int64=*/true});
    }
    if (const Value& more = table_["more"]; more.is_list()) {
      for (const Value& column : more.list())
        dataset.columns.push_back({column["name"].string(), features({column}), {}, {}});
    }
    return dataset;
  }

  // Raises an error where the options of these rows say otherwise than the other table what a column is used for.
  void refuse_other_uses(const TableOptions& options) const {
    const std::vector<std::string> inputs = names_in("inputs"), more = names_in("more");
    const std::string text = table_["text"].is_nil() ? "" : table_["text"]["name"].string();
    const auto is_in = [](const std::vector<std::string>& names, const std::string& name) {
      return std::ranges::find(names, name) != names.end();
    };
    const auto refuse = [this](const char* option, const std::string& what) {
      throw recipe_error(file_ + ": `" + option + "` " + what)
          .hint(
              "the first table decides what its columns are used for: the option belongs there, or has to say the "
              "same here");
    };
    for (const std::string& name : options.exclude) {
      if (is_in(inputs, name) || is_in(more, name) || name == text)
        refuse("exclude", "names " + in_quotes(name) + ", which is an input of the data here");
    }
    for (const std::string& name : options.columns)
      if (!is_in(inputs, name)) refuse("columns", "names " + in_quotes(name) + ", which is no input of the data here");
    for (const std::string& name : inputs) {
      if (!options.columns.empty() && !is_in(options.columns, name))
        refuse("columns", "lacks " + in_quotes(name) + ", which is an input of the data here");
    }
    for (const std::string& name : options.more)
      if (!is_in(more, name)) refuse("more", "names " + in_quotes(name) + ", which `more` does not name there");
    for (const std::string& name : options.categorical)
      if (is_number(name)) refuse("categorical", "names " + in_quotes(name) + ", which holds numbers in the data here");
    if (!options.text.empty() && options.text != text) refuse("text", "is another column than in the data here");
    if (options.length > 0 && options.length != table_["text"]["length"].integer())
      refuse("length", "is another one than in the data here");
  }

  std::string where(std::int64_t row, const std::string& column) const {
    return file_ + ":" + std::to_string(csv_.lines[static_cast<std::size_t>(row)]) + ": column " + in_quotes(column);
  }

 private:
  std::vector<std::string> names_in(const char* group) const {
    std::vector<std::string> names;
    if (!table_[group].is_list()) return names;
    for (const Value& column : table_[group].list()) names.push_back(column["name"].string());
    return names;
  }

  // Whether the other table takes the column for numbers.
  bool is_number(const std::string& name) const {
    for (const char* group : {"inputs", "more"}) {
      if (!table_[group].is_list()) continue;
      for (const Value& column : table_[group].list())
        if (column["name"] == Value(name) && !column["fill"].is_nil()) return true;
    }
    return false;
  }

  void require_columns() const {
    std::vector<std::string> wanted = names_in("inputs"), missing;
    for (const std::string& name : names_in("more")) wanted.push_back(name);
    if (!table_["text"].is_nil()) wanted.push_back(table_["text"]["name"].string());
    for (const std::string& name : wanted)
      if (std::find(csv_.header.begin(), csv_.header.end(), name) == csv_.header.end()) missing.push_back(name);
    if (missing.empty()) return;
    Error error = recipe_error(
        file_ + ": expected the columns of the training data; missing: " + joined_start(missing, 10, in_quotes));
    if (csv_.header.size() == 1 && wanted.size() > 1) {
      throw error.hint("its only column is " + in_quotes(csv_.header[0]) + ": is the delimiter another one than " +
                       in_quotes(table_["delimiter"].string()) + ", as in training?");
    }
    // A column that the model reads under its own name is no other one.
    std::vector<std::string> others;
    for (const std::string& name : csv_.header)
      if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) others.push_back(name);
    const std::string close = Registry::closest(missing.front(), others);
    throw error.hint(close.empty() ? "its columns are " + joined_start(csv_.header, 20) +
                                         "; an input whose value is not known is an empty field"
                                   : "is " + in_quotes(close) + " the column " + in_quotes(missing.front()) + "?");
  }

  std::size_t place_of(const std::string& name) const {
    return static_cast<std::size_t>(std::find(csv_.header.begin(), csv_.header.end(), name) - csv_.header.begin());
  }

  double number(std::int64_t row, const std::string& name, std::string_view field, double fill) const {
    if (is_missing(field)) return fill;
    const std::optional<double> number = number_in(field);
    if (!number) {
      const std::optional<std::string> meant = without_commas(field);
      throw recipe_error(where(row, name) + ": expected a number, as in training, found " + in_quotes(field))
          .hint(meant ? "write it as " + *meant : "a value that is not known is an empty field");
    }
    if (!(std::fabs(*number) <= std::numeric_limits<float>::max()))
      throw recipe_error(where(row, name) + ": " + in_quotes(field) + " is not finite or too large for float32");
    return *number;
  }

  static std::size_t width(const Value& column) {
    if (!column["categories"].is_list()) return 1;
    return column["categories"].list().size() + (column["missing"].boolean() ? 1 : 0);
  }

  at::Tensor features(const Value::List& columns) {
    std::size_t count = 0;
    for (const Value& column : columns) count += width(column);
    at::Tensor x = at::empty({csv_.rows(), static_cast<std::int64_t>(count)}, at::kDouble);
    std::size_t first = 0;
    for (const Value& column : columns) {
      const std::string& name = column["name"].string();
      const std::size_t place = place_of(name);
      UnknownCategories unknown;
      for (std::int64_t row = 0; row < csv_.rows(); ++row) {
        double* const out = x.mutable_data_ptr<double>() + static_cast<std::size_t>(row) * count + first;
        const std::string_view field = csv_.field(row, place);
        if (const Value& categories = column["categories"]; categories.is_list()) {
          if (!put_category(categories.list(), column["missing"].boolean(), field, out)) unknown.add(field, row);
        } else {
          *out = number(row, name, field, column["fill"].number());
        }
      }
      if (unknown.rows > 0) warnings_.push_back(warning_of(unknown, column));
      first += width(column);
    }
    return narrow_exactly(x);
  }

  // A category that the training rows lack matches none of their categories; false then.
  static bool put_category(const Value::List& categories, bool missing, std::string_view field, double* out) {
    bool found = missing && is_missing(field);
    if (missing) out[categories.size()] = found ? 1 : 0;
    for (const Value& category : categories) {
      const bool is_this = !is_missing(field) && category.string() == field;
      found = found || is_this;
      *out++ = is_this ? 1 : 0;
    }
    return found;
  }

  std::string warning_of(const UnknownCategories& unknown, const Value& column) const {
    const Value::List& categories = column["categories"].list();
    std::vector<std::string_view> known;
    for (const Value& category : categories) known.emplace_back(category.string());
    return where(unknown.first_row, column["name"].string()) + ": training had no category " + shown(unknown.values) +
           ", only " + shown(known) + "; all features of the column are 0 in " + std::to_string(unknown.rows) + " of " +
           counted(csv_.rows(), "row");
  }

  at::Tensor texts() const {
    const Value& text = table_["text"];
    const std::string& name = text["name"].string();
    const std::size_t place = place_of(name);
    const std::int64_t length = text["length"].integer();
    const Tokenizer tokenizer = Tokenizer::load(state_);
    at::Tensor x = at::empty({csv_.rows(), length}, at::kInt);
    for (std::int64_t row = 0; row < csv_.rows(); ++row) {
      const std::string_view field = csv_.field(row, place);
      if (field.empty()) throw recipe_error(where(row, name) + ": the text is empty");
      put_text(tokenizer.encode(field, where(row, name)), x.mutable_data_ptr<std::int32_t>() + row * length, length);
    }
    return x;
  }

  const CsvText& csv_;
  const std::string& file_;
  const NamedTensors& state_;
  const Value table_;
  std::vector<std::string>& warnings_;
};

}  // namespace

Value stored_table(const NamedTensors& state) {
  const auto found = state.find("table");
  const auto damaged = [] { return run_error("the checkpoint's table of columns is missing or damaged"); };
  if (found == state.end() || found->second.scalar_type() != at::kByte) throw damaged();
  const at::Tensor bytes = found->second.contiguous();
  Value table = parse_json({reinterpret_cast<const char*>(bytes.const_data_ptr<std::uint8_t>()), bytes.nbytes()},
                           "the checkpoint's table of columns");
  if (!table["delimiter"].is_string() || !table["target"].is_map() ||
      table["inputs"].is_list() == table["text"].is_map())
    throw damaged();
  return table;
}

Dataset encode_new(const CsvText& csv, const std::string& file, const NamedTensors& state,
                   std::vector<std::string>& warnings) {
  return NewRows(csv, file, state, warnings).encode();
}

std::vector<std::string> stored_targets(const Value& table) {
  std::vector<std::string> names;
  for (const Value& name : table["target"]["names"].list()) names.push_back(name.string());
  return names;
}

Dataset encode_like(const Table& table, const TableOptions& options, const CsvText& csv, const NamedTensors& state,
                    std::vector<std::string>& warnings) {
  NewRows rows(csv, table.file, state, warnings);
  rows.refuse_other_uses(options);
  Dataset dataset = rows.encode();
  const std::vector<std::string> names = stored_targets(rows.table());
  std::vector<std::string> classes;
  for (const Value& name : rows.table()["target"]["classes"].list()) classes.push_back(name.string());
  if (table.targets != names)
    throw recipe_error(table.file + ": its target is " + joined_start(table.targets, 20) +
                       ", and that of the data here is " + joined_start(names, 20));
  if (table.classes.empty() != classes.empty())
    throw recipe_error(table.file + ": its target is " + (classes.empty() ? "a class" : "a number") +
                       ", and that of the data here is " + (classes.empty() ? "a number" : "a class"))
        .hint("say which it is: task = \"regression\" or \"classification\"");
  Column y{"y", table.y, {}, {}};
  if (!classes.empty()) {
    y.values = at::empty({table.rows}, at::kLong);
    const auto* own = table.y.const_data_ptr<std::int64_t>();
    auto* given = y.values.mutable_data_ptr<std::int64_t>();
    std::vector<std::int64_t> places;
    for (const std::string& name : table.classes) {
      const auto found = std::find(classes.begin(), classes.end(), name);
      if (found == classes.end()) {
        const std::int64_t* first = std::find(own, own + table.rows, std::ssize(places));
        const std::string close = Registry::closest(name, classes);
        throw recipe_error(rows.where(first - own, names.front()) + ": its target has the class " + in_quotes(name) +
                           ", which the data here lacks")
            .hint(close.empty() ? "the classes here are " + joined_start(classes, 20, in_quotes)
                                : "did you mean \"" + close + "\"?");
      }
      places.push_back(found - classes.begin());
    }
    for (std::int64_t row = 0; row < table.rows; ++row) given[row] = places[static_cast<std::size_t>(own[row])];
  }
  // In the order of encode(): x, y, others.
  dataset.columns.insert(std::next(dataset.columns.begin()), std::move(y));
  dataset.classes = static_cast<std::int64_t>(classes.size());
  dataset.class_names = classes;
  return dataset;
}

}  // namespace trainlab
