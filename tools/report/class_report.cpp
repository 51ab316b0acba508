#include "class_report.h"

#include <vector>

#include "columns.h"
#include "report/texts.h"

namespace trainlab::report {

namespace {

constexpr std::size_t widest_matrix = 20;  // classes

using Cells = std::vector<std::vector<std::string>>;

std::string class_name(const Value& row) { return row["class"].is_string() ? row["class"].string() : "?"; }

std::string classes_text(const Value::List& classes) {
  Cells cells = {{"  class", "precision", "recall", "f1", "samples"}};
  for (const Value& row : classes) {
    std::vector<std::string> line = {"  " + class_name(row)};
    for (const char* score : {"precision", "recall", "f1", "samples"}) {
      line.push_back(row[score].is_number() ? short_number(row[score].number()) : "unknown");
    }
    cells.push_back(std::move(line));
  }
  return columns(cells, {false, true, true, true, true});
}

std::string matrix_text(const Value::List& matrix, const Value::List& classes) {
  Cells cells = {{"  label"}};
  for (const Value& row : classes) cells[0].push_back(class_name(row));
  for (std::size_t c = 0; c < matrix.size() && c < classes.size(); ++c) {
    std::vector<std::string> line = {"  " + class_name(classes[c])};
    for (const Value& count : matrix[c].list()) line.push_back(to_json(count));
    cells.push_back(std::move(line));
  }
  std::vector<bool> right(classes.size() + 1, true);
  right[0] = false;
  return columns(cells, right);
}

}  // namespace

std::string class_reports_text(const Value& reports) {
  std::string text;
  if (!reports.is_map()) return text;
  for (const auto& [name, report] : reports.map()) {
    const Value &classes = report["classes"], &matrix = report["matrix"];
    if (!classes.is_list()) continue;
    text += "\n" + name + "\n" + classes_text(classes.list());
    if (matrix.is_list() && matrix.list().size() <= widest_matrix) {
      text += "\n" + name + ", predictions of each label\n" + matrix_text(matrix.list(), classes.list());
    }
  }
  return text;
}

}  // namespace trainlab::report
