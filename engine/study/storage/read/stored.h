// What a stored study holds beside SQL's own kinds, and its version.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "study/trials.h"

namespace trainlab {

// Schema 2: trials have the columns parent and until.
inline constexpr int study_schema = 2;

// "0.1 nan 3": exact, also what SQL has no number for.
std::string numbers_text(std::span<const double> numbers);
// These raise Error{run} for what they did not write.
std::vector<double> parse_numbers(std::string_view text);
std::vector<double> report_values(std::string_view text, const std::string& place);  // one at least
TrialState parse_state(std::string_view name);

// Error{usage}: the study is of a later schema than this program's.
Error newer_study(const std::string& place, int schema);

}  // namespace trainlab
