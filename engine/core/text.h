// Text for people: quoting, lists of names, wrapping, and widths in terminal columns (one per code point).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/wrap.h"

namespace trainlab {

// Code points in a text; each byte that is not UTF-8 counts as one.
std::size_t columns(std::string_view text);

// "abc" in double quotes, control characters and bytes that are not UTF-8 escaped as Lua does it. A text longer than
// `width` columns is cut and ends in "…".
std::string quoted(std::string_view text, std::size_t width = static_cast<std::size_t>(-1));

// ASCII letters in lower case.
std::string lower(std::string_view text);

// `text` with spaces up to `width` columns.
std::string padded(std::string text, std::size_t width);

}  // namespace trainlab
