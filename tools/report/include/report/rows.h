// metrics.jsonl: a row per validation.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/value.h"

namespace trainlab::report {

struct Rows {
  std::vector<Value> rows;
  std::vector<std::string> metrics;  // names in order, without step, epoch, samples, seconds and lr
};

// The rows in a stage's folder; empty if there is no file. A last row that was cut off when the run was killed is left
// out. Raises damaged_file (run/folder.h) with the line of any other damaged row, and where a stage that has ended
// lacks rows that it has written.
Rows read_rows(const std::filesystem::path& folder);

// A number of a row, NaN if the row does not have it.
double number_in(const Value& row, const std::string& name);

}  // namespace trainlab::report
