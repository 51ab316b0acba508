// Shared by the parts of the registry: how kinds, types, paths and found values are put into words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/registry.h"

namespace trainlab {

// Name of an entry map ("optim.AdamW"); nullptr for other values and for functions.
const std::string* entry_name(const Value& value);
bool is_function_map(const Value& value);

// "Linear" of "nn.Linear", "split" of "data:split".
std::string_view last_part(std::string_view name);
// "nn" of "nn.Linear", "data" of "data:split"; empty for "fit".
std::string_view first_part(std::string_view name);
// A method that makes an entry ("data:split"): its first option is what stands before the colon.
bool is_chained(const Entry& entry);
constexpr std::string_view kSource = "source";
bool is_source(const Entry& entry, const Option& option);

// "data source" for the kind "data": kinds as readers know them.
std::string kind_text(std::string_view kind);

// Whether a keyed option's value is a table by name, and no entry, function or table of options.
bool is_by_name(const Option& option, const Value& value);

// Type of one element of an option, without "or a list of them".
std::string element_text(const Option& option);
// "in [0, 1)", "≥ 1"; empty without limits.
std::string range_text(const Option& option);

// The default as a recipe would write it; empty where there is none.
std::string default_text(const Option& option);
// The options of an entry as a table shows them; those of a table with fields follow it as "loader.threads".
struct OptionRow {
  std::string name, type, unit;
  std::string fallback;  // "required", the default, or empty
  std::string doc;
};
std::vector<OptionRow> option_rows(const Entry& entry);
// How an entry is called: "lab.nn.Linear(out, { bias = … })", "data:split { … }", "run.step".
std::string call_text(const Entry& entry);

// Path of an option, and of element `index` (from 0) of a list: model[3].Linear.
std::string option_path(const std::string& path, const Entry& entry, const Option& option);
std::string below(const std::string& path, std::string_view name);
std::string element_path(const std::string& path, std::size_t index, const Value& element);

// "digits.lua:14" taken apart; an empty file when there is no position.
struct SourceLine {
  std::string file;
  int line = 0;
};
SourceLine position_of(const Value& at);

// A value of an option in normal form (see Registry::check). `at` is given to entries made from names.
Value check_option(const Registry& registry, const Option& option, const Value& value, const std::string& path,
                   const Value& at);

}  // namespace trainlab
