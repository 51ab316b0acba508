// What `trainlab` prints about runs and entries. All texts end with a line break.
#pragma once

#include <filesystem>
#include <string>

#include "core/registry.h"
#include "core/value.h"

namespace trainlab::cli {

// A few lines on how a run ended: status and reason, the best validation, the final metrics, what it took, where it is.
std::string summary_text(const Value& summary);

// The runs below FOLDER/runs, a line each, oldest first; and as data.
std::string list_text(const std::filesystem::path& folder);
Value list_value(const std::filesystem::path& folder);

// How each stage of a run went, from what its folder holds.
std::string report_text(const std::filesystem::path& run);
// The rows of metrics.jsonl as CSV: step, epoch, samples, the metrics in order of name, lr, seconds. Of a run
// with several stages, the last one. Raises Error{usage} where there is none.
std::string report_csv(const std::filesystem::path& run);

// The help of one entry (with or without "lab." before its name). Raises Error{usage} with a did-you-mean.
std::string entry_help(const Registry& registry, const std::string& name, int width);
// The forms of an operator, from a table of lines "ops.add<tab>ops.add(self, …) → …". Raises Error{usage}.
std::string operator_help(std::string_view table, const std::string& name);
// All entries by kind, a line each.
std::string entry_list(const Registry& registry, int width);

// Shown: relative to the working directory where that is shorter.
std::string shown_path(const std::filesystem::path& path);
// Four significant digits, whole numbers in full.
std::string short_number(double x);

}  // namespace trainlab::cli
