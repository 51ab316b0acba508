// Texts of strangers (recipes, files, names) on their way to people.
#pragma once

#include <string>
#include <string_view>

namespace trainlab {

// The text as it may be shown on a terminal: UTF-8, control characters but tab and newline written as \27, so that no
// text moves the cursor, sets a colour or answers for the user.
std::string printable(std::string_view text);

// The same in one line: tab and newline are written as numbers too. For names of files and folders.
std::string printable_line(std::string_view text);

// Whether a name can stand in a line of a terminal, a table and a file: UTF-8, no control characters, 1 to 200 bytes.
bool is_name(std::string_view text);

// Whether the text is made as a name in Lua is: letters, digits and _, no digit first. So are Lua's own words.
bool is_identifier(std::string_view text);

// Whether the text is one of Lua's own words, "end", which cannot be a name.
bool is_lua_word(std::string_view text);

// The text; where it has more than `most` bytes, its beginning and the number of bytes that it had, `most` in all.
std::string shortened(std::string_view text, std::size_t most);

}  // namespace trainlab
