// Habits of people who come from Python, C or a later Lua, for hints in messages.
#pragma once

#include <string>
#include <string_view>

namespace trainlab {

// How Lua or a recipe says what a global of this name is elsewhere ("None": nil); or empty.
std::string_view global_elsewhere(std::string_view name);

// The text with spaces in place of its strings and comments.
std::string code_of(std::string_view text);

// Line number `line` of a text, counted from 1.
std::string_view line_of(std::string_view text, int line);

// How Lua says what stands in this line of a text that is no Lua ("a += 1"), or in a line before it that Lua read
// otherwise than was meant; or empty.
std::string_view syntax_elsewhere(std::string_view text, int line);

// The hint for a message of Lua's own about what is written otherwise here ("table.unpack", list[0]), raised at this
// line of a text; or empty.
std::string_view call_elsewhere(std::string_view message, std::string_view text, int line);

// For require: what recipes have in place of a module of Python ("torch"); or empty.
std::string_view module_elsewhere(std::string_view name);

}  // namespace trainlab
