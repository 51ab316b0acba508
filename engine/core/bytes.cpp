#include "core/bytes.h"

#include <charconv>

namespace trainlab {

std::optional<std::int64_t> bytes_of(std::string_view text, std::int64_t whole) {
  double amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  if (error != std::errc() || !(amount > 0)) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  struct Unit {
    std::string_view name;
    double bytes;
  };
  const Unit units[] = {{"B", 1},
                        {"kB", 1e3},
                        {"KB", 1e3},
                        {"MB", 1e6},
                        {"GB", 1e9},
                        {"TB", 1e12},
                        {"KiB", 0x1p10},
                        {"MiB", 0x1p20},
                        {"GiB", 0x1p30},
                        {"TiB", 0x1p40},
                        {"%", static_cast<double>(whole) / 100}};
  if (unit == "%" && amount > 100) return std::nullopt;
  for (const Unit& one : units) {
    const double bytes = amount * one.bytes;
    if (unit == one.name && bytes >= 1 && bytes < 0x1p62) return static_cast<std::int64_t>(bytes);
  }
  return std::nullopt;
}

}  // namespace trainlab
