// TOML as Values, for what people read and write: manifests, parameter files, values on the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/value.h"

namespace trainlab {

// A map of booleans, numbers, strings, lists and maps as TOML; nil members are left out.
std::string to_toml(const Value& map);

// Dates and times become strings. Raises Error{usage} with `what` (the file) and line.
Value parse_toml(std::string_view text, const std::string& what);

// The top-level members in the order of their lines, with the line of each.
struct TomlMember {
  std::string name;
  Value value;
  int line = 0;
};
std::vector<TomlMember> parse_toml_members(std::string_view text, const std::string& what);

}  // namespace trainlab
