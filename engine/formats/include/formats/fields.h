// What a field of a CSV file means: missing, a number, or text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace trainlab {

// An empty field, NA or nan.
bool is_missing(std::string_view field);

// The whole field as a number, infinities included; none for anything else.
std::optional<double> number_in(std::string_view field);

// A number that is written with a decimal comma, with a decimal point in its place; none for anything else.
std::optional<std::string> with_decimal_point(std::string_view field);

// For messages; a long field is cut.
std::string in_quotes(std::string_view field);

}  // namespace trainlab
