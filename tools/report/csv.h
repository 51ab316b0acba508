// Tables as CSV (RFC 4180).
#pragma once

#include <string>
#include <vector>

#include "core/value.h"

namespace trainlab::report {

// A line of cells, quoted where they have to be.
std::string csv_row(const std::vector<std::string>& cells);

// A value as the text of a cell: numbers in shortest round-trip form, nil as nothing, tables as JSON.
std::string csv_text(const Value& value);

}  // namespace trainlab::report
