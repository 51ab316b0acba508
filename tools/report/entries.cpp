#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "columns.h"
#include "core/error.h"
#include "core/words.h"
#include "report/texts.h"

namespace trainlab::report {

namespace {

constexpr const char* how_to_go_on = "\n`trainlab help NAME` shows the options of one.\n";

// A line each; what does not fit is read with `help NAME`.
std::string lines_of(const std::vector<const Entry*>& entries, int width) {
  std::vector<std::vector<std::string>> rows;
  for (const Entry* entry : entries) rows.push_back({"  " + entry->name, entry->doc});
  return cut_lines(columns(rows, {false, false}), width);
}

// "nn": nn.Linear, nn.ReLU …; "data": data.csv, data:split ….
std::vector<const Entry*> group(const Registry& registry, const std::string& name) {
  std::vector<const Entry*> entries;
  for (const Entry* entry : registry.entries()) {
    const bool within = entry->name.size() > name.size() && entry->name.starts_with(name);
    if (within && (entry->name[name.size()] == '.' || entry->name[name.size()] == ':')) entries.push_back(entry);
  }
  return entries;
}

// A name without the module before it, which is lab, or torch for those who know PyTorch's names.
std::string without_lab(const std::string& given) {
  for (const std::string module : {"lab.", "torch."})
    if (given.starts_with(module)) return given.substr(module.size());
  return given;
}

// "Linear" of nn.Linear.
std::string last_part(const Entry& entry) { return entry.name.substr(entry.name.find_last_of(".:") + 1); }

std::vector<std::string> with_last_part(const Registry& registry, const std::string& name) {
  std::vector<std::string> names;
  for (const Entry* entry : registry.entries()) {
    if (last_part(*entry) == name) names.push_back(entry->name);
  }
  return names;
}

}  // namespace

std::optional<std::string> find_entry_help(const Registry& registry, const std::string& given, int width) {
  const std::string name = without_lab(given);
  if (const Entry* entry = registry.find(name)) return help_text(*entry, width);
  if (const std::vector<const Entry*> entries = group(registry, name); !entries.empty()) {
    return lines_of(entries, width) + how_to_go_on;
  }
  const std::vector<std::string> ends = with_last_part(registry, name);
  return ends.size() == 1 ? std::optional(help_text(*registry.find(ends.front()), width)) : std::nullopt;
}

std::string entry_help(const Registry& registry, const std::string& given, int width) {
  if (std::optional<std::string> text = find_entry_help(registry, given, width)) return *text;
  const std::string name = without_lab(given);
  const std::vector<std::string> ends = with_last_part(registry, name);
  std::vector<std::string> names, last_parts;
  for (const Entry* entry : registry.entries()) {
    names.push_back(entry->name);
    last_parts.push_back(last_part(*entry));
  }

  Error error = usage_error("there is no entry or command \"" + given + "\"");
  std::string close = joined(ends);
  if (close.empty()) close = Registry::closest(name, names);
  if (close.empty()) close = Registry::closest(name, last_parts);
  if (!close.empty()) {
    error.hint("did you mean " + close + "?");
  } else {
    const bool are_words = given.find(' ') != std::string::npos;
    error.hint(are_words ? "a page or an entry has all of the words: fewer words find more"
                         : "`trainlab help` lists them all");
  }
  throw error;
}

std::string operator_help(std::string_view table, const std::string& given, int width) {
  const std::string name = given.starts_with("lab.") ? given.substr(4) : given;
  std::string text;
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < table.size();) {
    const std::size_t end = table.find('\n', begin);
    const std::size_t tab = table.find('\t', begin);
    const std::string_view found = table.substr(begin, tab - begin);
    if (found == name) text += "  " + std::string(table.substr(tab + 1, end - tab));
    if (names.empty() || names.back() != found) names.emplace_back(found);
    begin = end + 1;
  }
  if (!text.empty()) {
    return "lab." + name + ", an operator of ATen: what it computes is in PyTorch's documentation\n\n" + text +
           "\nOptions in { } are given by name in a last table; those before them also by name.\n";
  }
  if (name == "ops") {
    std::string line = " ";
    for (const std::string& one : names) {
      const std::string last = " " + one.substr(4);
      if (line.size() + last.size() > static_cast<std::size_t>(width)) text += std::exchange(line, " ") + "\n";
      line += last;
    }
    return text + line + "\n\n`trainlab help ops.NAME` shows the forms of one.\n";
  }
  Error error = usage_error("there is no operator \"" + given + "\"");
  const std::string close = Registry::closest(name, names);
  throw error.hint(close.empty() ? "operators are called as in PyTorch's ATen" : "did you mean " + close + "?");
}

std::string entry_list(const Registry& registry, int width) {
  std::map<std::string, std::vector<const Entry*>> kinds;
  for (const Entry* entry : registry.entries()) kinds[entry->kind].push_back(entry);
  std::string text;
  for (const auto& [kind, entries] : kinds) {
    text += (text.empty() ? "" : "\n") + kind + ":\n" + lines_of(entries, width);
  }
  return text + how_to_go_on;
}

}  // namespace trainlab::report
