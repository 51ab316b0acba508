// What a study's file holds beside SQL's own kinds, its version, and what is said when it cannot be used.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "study/trials.h"

namespace trainlab {

inline constexpr int study_schema = 1;

// "0.1 nan 3": exact, also what SQL has no number for.
std::string numbers_text(std::span<const double> numbers);
// These raise Error{run} for what they did not write.
std::vector<double> parse_numbers(std::string_view text);
std::vector<double> report_values(std::string_view text, const std::filesystem::path& file);  // one at least
TrialState parse_state(std::string_view name);

// Error{usage}: the file is of a later schema than this program's.
Error newer_study(const std::filesystem::path& file, int schema);
// Error{run}: SQLite's own words, with the file and what to do.
Error study_file_error(const std::filesystem::path& file, const std::string& text);

}  // namespace trainlab
