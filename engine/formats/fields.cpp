#include "formats/fields.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <regex>

namespace trainlab {

bool is_missing(std::string_view field) {
  return field.empty() || field == "NA" || field == "nan" || field == "NaN" || field == "NAN";
}

std::optional<double> number_in(std::string_view field) {
  if (field.starts_with('+')) field.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
  if (end != field.data() + field.size() || field.empty()) return {};
  if (error == std::errc::result_out_of_range) return std::numeric_limits<double>::infinity();
  if (error != std::errc() || std::isnan(number)) return {};
  return number;
}

std::optional<std::string> without_commas(std::string_view field) {
  const std::size_t comma = field.find(',');
  if (comma == std::string_view::npos) return {};
  std::optional<std::string> decimal = std::string(field), grouped;
  (*decimal)[comma] = '.';
  if (!number_in(*decimal)) decimal.reset();
  static const std::regex thousands(R"([+-]?\d{1,3}(,\d{3})+(\.\d*)?)");
  if (std::regex_match(field.begin(), field.end(), thousands)) {
    grouped = std::string(field);
    std::erase(*grouped, ',');
  }
  if (decimal && grouped) return *grouped + ", or as " + *decimal + " if the comma is a decimal one";
  return grouped ? grouped : decimal;
}

std::string in_quotes(std::string_view field) {
  constexpr std::size_t most = 40;
  return "\"" + std::string(field.substr(0, most)) + (field.size() > most ? "…\"" : "\"");
}

}  // namespace trainlab
