#include "csv.h"

namespace trainlab::report {

namespace {

std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string csv_row(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& text : cells) line += (&text == &cells.front() ? "" : ",") + cell(text);
  return line + "\n";
}

std::string csv_text(const Value& value) {
  if (value.is_nil()) return "";
  if (value.is_string()) return value.string();
  if (value.is_integer()) return to_json(value);
  return value.is_number() ? number_text(value.number()) : to_json(value);
}

}  // namespace trainlab::report
