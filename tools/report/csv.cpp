#include "csv.h"

#include "core/words.h"

namespace trainlab::report {

std::string csv_row(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& text : cells) line += (&text == &cells.front() ? "" : ",") + csv_field(text);
  return line + "\n";
}

std::string csv_text(const Value& value) {
  if (value.is_nil()) return "";
  if (value.is_string()) return value.string();
  if (value.is_integer()) return to_json(value);
  return value.is_number() ? number_text(value.number()) : to_json(value);
}

}  // namespace trainlab::report
