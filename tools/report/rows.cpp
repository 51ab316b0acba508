#include "report/rows.h"

#include <limits>
#include <set>

#include "core/files.h"
#include "run/folder.h"
#include "run/stage_files.h"

namespace trainlab::report {

namespace {

Value row_in(const std::filesystem::path& file, int line, std::string_view text) {
  Value row;
  try {
    row = parse_json(text, "");
  } catch (const Error&) {
    // Told below.
  }
  if (!row.is_map()) throw damaged_file(file, "line " + std::to_string(line) + " is not an object in JSON");
  return row;
}

}  // namespace

Rows read_rows(const std::filesystem::path& folder) {
  Rows result;
  const std::filesystem::path path = folder / "metrics.jsonl";
  std::error_code ignored;
  const std::string text = std::filesystem::exists(path, ignored) ? read_file(path) : "";
  static const std::set<std::string> counters = {"step", "epoch", "samples", "seconds", "lr"};
  std::set<std::string> names;
  int line = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;  // cut off
    ++line;
    Value row = row_in(path, line, std::string_view(text).substr(begin, end - begin));
    for (const auto& [name, value] : row.map()) {
      if (!counters.contains(name)) names.insert(name);
    }
    result.rows.push_back(std::move(row));
    begin = end + 1;
  }
  check_rows(folder);
  result.metrics.assign(names.begin(), names.end());
  return result;
}

double number_in(const Value& row, const std::string& name) {
  const Value& value = row[name];
  return value.is_number() ? value.number() : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace trainlab::report
