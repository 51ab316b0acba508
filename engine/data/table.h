// Table: a CSV file as a data set: which columns are numbers, which categories, what stands for missing values.
//
// The kind of each column and the targets are known when the file is read. Fill values and categories come from the
// rows that train, so that validation and test parts stay unseen, and are made when these rows are known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace trainlab {

enum class Task { automatic, regression, classification };

struct TableOptions {
  std::string target;
  Task task = Task::automatic;
  std::vector<std::string> columns;  // inputs; empty: all but the target
  std::vector<std::string> exclude;
  std::vector<std::string> categorical;  // columns of categories though they look like numbers
  char delimiter = ',';
};

// One column of the file.
struct TableColumn {
  std::string name;
  std::vector<double> numbers;  // NaN: missing
  std::vector<std::string>
      values;  // of a column of categories: the distinct ones, sorted; missing ones are not among them
  std::vector<std::int32_t> codes;  // of a column of categories: for each row its value; −1: missing

  bool is_number() const { return values.empty() && codes.empty(); }
};

struct Table {
  std::string file;
  std::vector<TableColumn> inputs;
  at::Tensor y;  // int64 [N], or float32 [N, 1]
  std::string target;
  std::vector<std::string> classes;  // empty: regression
  std::int64_t rows = 0;
};

// `text` as in the file. Error{recipe} names file, line and column: see read_csv(); further an unknown column (with a
// suggestion), text or infinity in a column of numbers, a missing or infinite target, a target of text in a regression.
Table read_table(std::string text, const std::string& file, const TableOptions& options);

// x float32 [features] and y. A column of numbers is one feature, missing ones are the mean over `train`. A column of
// categories is one feature for each category found in `train`, "(missing)" among them if it has missing values; in a
// row with a category not found there all of them are 0. Adds `table` to `state`. Error{recipe} for a column of
// numbers without a single one in `train`.
Dataset encode(const Table& table, const Part& train, NamedTensors& state);

}  // namespace trainlab
