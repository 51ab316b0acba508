// help_text: one entry for a terminal.
#include <algorithm>

#include "core/words.h"
#include "text.h"
#include "types.h"

namespace trainlab {

std::string call_text(const Entry& entry) {
  if (entry.kind == "field") return entry.name;
  const bool method = entry.name.find(':') != std::string::npos;
  std::string text = method ? entry.name : "lab." + entry.name;
  std::vector<std::string> by_position;
  bool named = false;
  for (const Option& option : entry.options) {
    if (is_source(entry, option)) continue;
    if (option.is_array) {
      by_position.push_back(option.name + " …");
    } else if (option.is_positional) {
      by_position.push_back(option.name);
    } else {
      named = true;
    }
  }
  const std::string arguments = joined(by_position);
  if (by_position.empty() && named) return text + " { … }";
  if (entry.array_option()) return text + " { " + arguments + (named ? ", … }" : " }");
  return text + "(" + arguments + (named ? ", { … })" : ")");
}

namespace {

void add_rows(const std::vector<Option>& options, const std::string& prefix, std::vector<OptionRow>& rows) {
  for (const Option& option : options) {
    // The defaults of a table with fields stand beside the fields.
    const std::string fallback = option.is_required ? "required" : option.nested.empty() ? default_text(option) : "";
    rows.push_back({prefix + option.name, option.type_text(), option.unit, fallback, option.doc});
    add_rows(option.nested, prefix + option.name + ".", rows);
  }
}

}  // namespace

std::vector<OptionRow> option_rows(const Entry& entry) {
  std::vector<OptionRow> rows;
  add_rows(entry.options, "", rows);
  if (is_chained(entry)) rows.erase(rows.begin());  // what stands before the colon
  return rows;
}

namespace {

std::size_t widest(const std::vector<OptionRow>& rows, std::string OptionRow::*cell, std::size_t limit) {
  std::size_t width = 0;
  for (const OptionRow& row : rows) width = std::max(width, columns(row.*cell));
  return std::min(width, limit);
}

// Columns side by side, each wrapped within its own width.
std::string table(const std::vector<OptionRow>& rows, std::size_t width) {
  const std::size_t name = widest(rows, &OptionRow::name, 24), type = widest(rows, &OptionRow::type, 28),
                    fallback = widest(rows, &OptionRow::fallback, 16);
  const std::size_t used = 2 + name + 2 + type + 2 + fallback + 2;
  const std::size_t doc = width > used + 24 ? width - used : 24;
  std::string out;
  for (const OptionRow& row : rows) {
    const auto names = wrap(row.name, name), types = wrap(row.type, type), fallbacks = wrap(row.fallback, fallback),
               docs = wrap(row.doc, doc);
    const std::size_t lines = std::max({names.size(), types.size(), fallbacks.size(), docs.size()});
    const auto cell = [](const std::vector<std::string>& wrapped, std::size_t i) {
      return i < wrapped.size() ? wrapped[i] : std::string();
    };
    for (std::size_t i = 0; i < lines; ++i) {
      std::string line = "  " + padded(cell(names, i), name) + "  " + padded(cell(types, i), type) + "  " +
                         padded(cell(fallbacks, i), fallback) + "  " + cell(docs, i);
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
  }
  return out;
}

std::string paragraph(std::string_view text, std::size_t width) {
  std::string out;
  for (const std::string& line : wrap(text, width)) out += line + "\n";
  return out;
}

std::string indented(std::string_view code) {
  std::string out;
  while (!code.empty()) {
    const std::size_t end = std::min(code.find('\n'), code.size());
    out += end == 0 ? "\n" : "  " + std::string(code.substr(0, end)) + "\n";
    code.remove_prefix(std::min(end + 1, code.size()));
  }
  return out;
}

}  // namespace

std::string help_text(const Entry& entry, int width) {
  const auto columns_wide = static_cast<std::size_t>(std::max(width, 40));
  std::string out = call_text(entry) + "    " + kind_text(entry.kind) + "\n\n" + paragraph(entry.doc, columns_wide);
  std::vector<OptionRow> rows = option_rows(entry);
  for (OptionRow& row : rows) row.type += row.unit.empty() ? "" : " [" + row.unit + "]";
  if (!rows.empty()) out += "\n" + table(rows, columns_wide);
  if (!entry.result.empty()) out += "\n" + paragraph("Returns " + entry.result + ".", columns_wide);
  if (!entry.notes.empty()) out += "\n" + paragraph(entry.notes, columns_wide);
  if (!entry.sample.empty()) out += "\nExample:\n" + indented(entry.sample);
  return out;
}

}  // namespace trainlab
