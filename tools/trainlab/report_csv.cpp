#include <filesystem>
#include <vector>

#include "cli/texts.h"
#include "core/error.h"
#include "rows.h"
#include "run/folder.h"

namespace trainlab::cli {

namespace fs = std::filesystem;

namespace {

// RFC 4180.
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string number_cell(const Value& value) {
  if (value.is_nil()) return "";
  return value.is_string() ? cell(value.string()) : to_json(value);
}

}  // namespace

std::string report_csv(const fs::path& run) {
  const std::vector<StageRecord> stages = read_stages(run);
  if (stages.empty()) throw usage_error("no stage of " + run.string() + " has begun: there are no rows");
  const std::string& folder = stages.back().folder;
  const Rows rows = read_rows(folder == "." ? run : run / folder);
  if (rows.rows.empty()) throw usage_error("stage " + stages.back().name + " has no metrics.jsonl with rows");

  std::vector<std::string> names = {"step", "epoch", "samples"};
  names.insert(names.end(), rows.metrics.begin(), rows.metrics.end());
  names.insert(names.end(), {"lr", "seconds"});
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + cell(name);
  text += "\n";
  for (const Value& row : rows.rows) {
    std::string line;
    for (const std::string& name : names) line += (&name == &names.front() ? "" : ",") + number_cell(row[name]);
    text += line + "\n";
  }
  return text;
}

}  // namespace trainlab::cli
