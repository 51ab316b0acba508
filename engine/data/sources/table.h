// Table: a CSV file as a data set: the kind of each column, its categories, and the values that replace missing ones.
//
// The kind of each column and the targets are known when the file is read. Fill values and categories come from the
// rows that train, so that validation and test parts stay unseen; they are computed when these rows are known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "formats/csv.h"

namespace trainlab {

enum class Task { automatic, regression, classification };

struct TableOptions {
  std::vector<std::string> targets;  // one, or several of numbers
  Task task = Task::automatic;
  std::vector<std::string> columns;  // inputs; empty: every column that no other option names
  std::vector<std::string> more;     // inputs of their own, each a column of the batch
  std::vector<std::string> exclude;
  std::vector<std::string> categorical;  // columns of categories though they look like numbers
  std::string text;                      // a column of text, which is x in place of all features; empty: none
  std::int64_t length = 0;               // number of characters; 0: the length of the longest text
};

// One column of the file.
struct TableColumn {
  std::string name;
  std::vector<double> numbers;      // NaN: missing
  std::vector<std::string> values;  // the distinct categories of a column, sorted, without missing ones
  std::vector<std::int32_t> codes;  // the category of each row; −1: missing
  bool is_named = false;            // the option `categorical` names the column

  bool is_number() const { return values.empty() && codes.empty(); }
};

struct Table {
  std::string file;
  char delimiter = ',';
  std::vector<TableColumn> inputs, more;
  std::string text_name;
  std::vector<std::string> text;  // for each row; empty unless there is a column of text
  std::int64_t text_length = 0;
  at::Tensor y;  // int64 [N], or numbers [N, targets]
  std::vector<std::string> targets;
  std::vector<std::string> classes;  // empty: regression
  std::int64_t rows = 0;
};

// The rows and the targets of a file, without its inputs, which another table decides where this one is appended to it.
// Error{recipe} names file, line and column: an unknown column (with a suggestion), a column named twice, text or
// infinity in a column of numbers (also as its first value, where nine tenths of the others are numbers), a missing or
// infinite target, a target of text in a regression, an empty text, a column whose numbers have a decimal comma,
// categories that are not UTF-8.
Table read_table(const CsvText& csv, const std::string& file, const TableOptions& options);
// Adds the inputs: `inputs`, `more` and the text. Errors as above.
void read_inputs(Table& table, const CsvText& csv, const TableOptions& options);

// Any column as float64 [N]: numbers, or the codes of its distinct values; NaN where missing. Undefined where there is
// no such column. Errors as above.
at::Tensor read_column(const CsvText& csv, const std::string& file, const std::string& column);

// Makes x [features], y, and a column for each of `more`. A column of numbers is one feature; missing numbers
// become the mean over `train`. A column of categories is one feature for each category found in `train`, "(missing)"
// among them if there are missing values; for a category not found there all these features are 0. With a column of
// text x is int64 [text_length]: the characters, numbered from 1 in the order of the vocabulary of all rows; a shorter
// text has zeros before it, a longer text is cut at its end. Adds `table` (and `tokenizer`) to `state`. Error{recipe}
// for a column of numbers without a single number in `train`. Numbers are stored in float64 where float32 does not hold
// each of them exactly. `warnings` receives a sentence for each column of categories in which most of at least 50 rows
// have a value of their own, unless the option `categorical` names the column.
Dataset encode(const Table& table, const Part& train, NamedTensors& state, std::vector<std::string>& warnings);

// A text as a row of x. Characters count from 1; a text ends where the row ends, so that the last step of a recurrent
// layer has seen it all.
void put_text(std::vector<std::int32_t> tokens, std::int32_t* row, std::int64_t length);

// Reads the tensor that encode() stored under `table`. Error{run} if it is damaged.
Value stored_table(const NamedTensors& state);

// The names of the targets in what stored_table() gave.
std::vector<std::string> stored_targets(const Value& table);

// Encodes rows of another file as encode() did: x and a column for each of `more`, with the fill values, categories and
// vocabulary of the training part. Columns that are not inputs are ignored. Error{recipe} names the file and the
// missing column, or the line and the column of a value that is not a number, not text, or not in the vocabulary.
// `warnings` receives a sentence for each column with categories that the training part lacks.
Dataset encode_new(const CsvText& csv, const std::string& file, const NamedTensors& state,
                   std::vector<std::string>& warnings);

// The rows of a table, with its targets, encoded as encode() has encoded another table, whose state this is. Categories
// that the other table lacks count as in encode(). `options` are the table's own. Error{recipe} and `warnings` are
// those of encode_new(); there is an Error{recipe} for other targets, for a class that the other table lacks, and for
// an option that contradicts what the other table does with its columns, too.
Dataset encode_like(const Table& table, const TableOptions& options, const CsvText& csv, const NamedTensors& state,
                    std::vector<std::string>& warnings);

}  // namespace trainlab
