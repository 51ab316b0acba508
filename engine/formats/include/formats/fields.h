// The meaning of a field of a CSV file: missing, a number, or text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace trainlab {

// An empty field, NA or nan.
bool is_missing(std::string_view field);

// The whole field as a number, infinities included; none for anything else.
std::optional<double> number_in(std::string_view field);

// How a number that is written with commas is to be written: "2.5" for "2,5", "1234567" for "1,234,567", and both for
// "3,682", in words. None for anything else.
std::optional<std::string> without_commas(std::string_view field);

// For messages; a long field is cut.
std::string in_quotes(std::string_view field);

}  // namespace trainlab
