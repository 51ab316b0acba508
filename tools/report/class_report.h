// What metric.report measured, as tables for a terminal.
#pragma once

#include <string>

#include "core/value.h"

namespace trainlab::report {

// `reports` of a fit's summary.json: for each a table of its classes and, where it has one that a terminal can show, the
// confusion matrix. Empty for nil and for reports of other kinds.
std::string class_reports_text(const Value& reports);

}  // namespace trainlab::report
