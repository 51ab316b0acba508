// Tables for a terminal.
#pragma once

#include <string>
#include <vector>

namespace trainlab::report {

// Rows as lines of columns two spaces apart; `right` says which columns end flush. Widths count code points.
std::string columns(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right);

// Each line of a text cut to `width` columns, where "…" stands for the rest.
std::string cut_lines(const std::string& text, int width);

// Values as bars of eight heights, at most `width` of them (means of neighbours where there are more); a NaN is a
// space.
std::string sparkline(const std::vector<double>& values, std::size_t width);

}  // namespace trainlab::report
