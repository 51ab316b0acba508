// What a sweep's summary.json says: derived from the study alone, so that it is the same whoever writes it.
#pragma once

#include "worker.h"

namespace trainlab {

Value sweep_summary(const StudyPlan& plan, const SharedStudy& study, const std::optional<std::string>& stopped);

}  // namespace trainlab
