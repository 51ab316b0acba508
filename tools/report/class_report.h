// The reports of metric.report as tables for a terminal.
#pragma once

#include <string>

#include "core/value.h"

namespace trainlab::report {

// `reports`: of a fit's summary.json. Gives for each report a table of its classes and, if it fits a terminal, the
// confusion matrix. Empty for nil and for reports of other kinds.
std::string class_reports_text(const Value& reports);

}  // namespace trainlab::report
