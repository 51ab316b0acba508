#include "columns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>

#include "core/printable.h"
#include "report/texts.h"

namespace trainlab::report {

namespace {

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// The mean of the numbers among values[first, last), NaN if there is none.
double mean(const std::vector<double>& values, std::size_t first, std::size_t last) {
  double sum = 0;
  int count = 0;
  for (std::size_t i = first; i < last; ++i) {
    if (!std::isfinite(values[i])) continue;
    sum += values[i];
    ++count;
  }
  return count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / count;
}

}  // namespace

std::string columns(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right) {
  std::vector<std::size_t> widths(right.size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blank(widths[i] - width_of(row[i]), ' ');
      line += (i > 0 ? "  " : "") + (right[i] ? blank + row[i] : row[i] + blank);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string cut_lines(const std::string& text, int width) {
  std::string cut;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    std::string line = text.substr(begin, end - begin);
    if (width_of(line) > static_cast<std::size_t>(width)) {
      std::size_t last = 0;
      for (int columns = 0; columns < width; ++last) columns += (static_cast<unsigned char>(line[last]) & 0xC0) != 0x80;
      line = line.substr(0, last - 1) + "…";
    }
    cut += line + "\n";
    begin = end + 1;
  }
  return cut;
}

std::string sparkline(const std::vector<double>& values, std::size_t width) {
  static constexpr std::array<const char*, 8> bars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t count = std::min(width, values.size());
  std::vector<double> means;
  for (std::size_t i = 0; i < count; ++i) {
    means.push_back(mean(values, i * values.size() / count, (i + 1) * values.size() / count));
  }
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const double x : means) {
    if (std::isnan(x)) continue;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  std::string text;
  for (const double x : means) {
    if (std::isnan(x)) {
      text += " ";
    } else {
      const double height = high > low ? (x - low) / (high - low) : 0.5;
      text += bars[static_cast<std::size_t>(std::lround(height * 7))];
    }
  }
  return text;
}

std::string short_number(double x) {
  if (!std::isfinite(x)) return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
  if (x == std::round(x) && std::abs(x) < 1e15) return std::to_string(static_cast<long long>(x));
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", x);
  return text.data();
}

std::string shown_path(const std::filesystem::path& path) {
  std::error_code failed;
  const std::filesystem::path here = std::filesystem::current_path(failed);
  const std::string relative = path.lexically_relative(here).string();
  const std::string whole = path.string();
  return failed || relative.empty() || relative.size() > whole.size() ? whole : relative;
}

std::string shown_line(const std::filesystem::path& path) { return printable_line(shown_path(path)); }

}  // namespace trainlab::report
