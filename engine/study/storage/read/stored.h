// The version of a stored study, and values that are stored as text because SQL has no type for them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "study/trials.h"

namespace trainlab {

// The present version of the schema. Since version 2, trials have the columns parent and until.
inline constexpr int study_schema = 2;

// The numbers as text, such as "0.1 nan 3". The text is exact, also for NaN and infinity, which SQL's numbers lack.
std::string numbers_text(std::span<const double> numbers);
// The following functions raise Error{run} for a text that numbers_text() cannot have written.
std::vector<double> parse_numbers(std::string_view text);
std::vector<double> report_values(std::string_view text, const std::string& place);  // at least one
TrialState parse_state(std::string_view name);

// The Error{usage} for a study with a later schema than this program knows.
Error newer_study(const std::string& place, int schema);

}  // namespace trainlab
