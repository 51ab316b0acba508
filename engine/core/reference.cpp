// reference_markdown: all entries as one page.
#include <set>

#include "text.h"
#include "types.h"

namespace trainlab {

namespace {

// A cell of a Markdown table: no line break, no bar that ends it.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string code(std::string_view text) { return text.empty() ? "" : "`" + cell(text) + "`"; }

// The word by which the tests (tests/cli/test_docs.py) know what an example is: a whole recipe, statements that are
// executed, or statements that are only compiled, because the objects in the example belong to a run.
std::string frame_of(const Entry& entry) {
  if (entry.kind == "stage") return "";
  const bool of_run = entry.kind == "field" || entry.kind == "method" || entry.kind == "function";
  return of_run ? " compiled" : " fragment";
}

std::string section(const Entry& entry) {
  std::string out = "### <a id=\"" + entry.name + "\"></a>`" + entry.name + "`\n\n";
  out += "`" + call_text(entry) + "`\n\n" + entry.doc + "\n\n";
  const std::vector<OptionRow> rows = option_rows(entry);
  const std::string row_name = entry.kind == "field" ? "field" : "option";
  if (!rows.empty()) out += "| " + row_name + " | type | default | unit | |\n|---|---|---|---|---|\n";
  for (const OptionRow& row : rows) {
    const std::string fallback = row.fallback == "required" ? row.fallback : code(row.fallback);
    out += "| " + code(row.name) + " | " + cell(row.type) + " | " + fallback + " | " + cell(row.unit) + " | " +
           cell(row.doc) + " |\n";
  }
  if (!rows.empty()) out += "\n";
  if (!entry.result.empty()) out += "Returns " + entry.result + ".\n\n";
  if (!entry.notes.empty()) out += entry.notes + "\n\n";
  if (!entry.sample.empty()) out += "```lua" + frame_of(entry) + "\n" + entry.sample + "\n```\n\n";
  return out;
}

}  // namespace

std::string reference_markdown(const Registry& registry) {
  std::string out =
      "<!-- Generated from the declarations in the engine; edit those, not this file. -->\n\n# Reference\n\n"
      "Everything that a recipe can name. `trainlab help NAME` shows the same text.\n\n";
  std::set<std::string> kinds;
  for (const Entry* entry : registry.entries()) kinds.insert(entry->kind);
  for (const std::string& kind : kinds) {
    out += "- **" + kind_text(kind) + "**:";
    for (const Entry* entry : registry.of_kind(kind)) out += " [" + entry->name + "](#" + entry->name + ")";
    out += "\n";
  }
  for (const std::string& kind : kinds) {
    out += "\n## Kind: " + kind_text(kind) + "\n\n";
    for (const Entry* entry : registry.of_kind(kind)) out += section(*entry);
    out.pop_back();  // one empty line between sections
  }
  return out;
}

}  // namespace trainlab
