// How a trial ends: what the study is told of its repeats, and whether the remaining repeats are worth their training.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trials/trial_plans.h"

namespace trainlab {

struct TrialEnd {
  TrialState state = TrialState::complete;
  std::vector<double> values;
  Value info;
  bool interrupted = false;                // another process continues the trial
  std::optional<std::int64_t> until = {};  // see EndedTrial
};

// Whether a budget of the run ended the fit with this summary before the fit's own end.
bool is_cut_short(const Value& summary);

TrialEnd end_of(const StudyPlan& plan, const SharedStudy& study, TrialPlans& plans, const BuiltTrial& trial);

// Why the repeats that are left would be spent in vain, when they would. Follows the study.
std::optional<std::string> hopeless(const StudyPlan& plan, SharedStudy& study, const BuiltTrial& trial);

}  // namespace trainlab
