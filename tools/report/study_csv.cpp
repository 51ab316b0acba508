// The trials of a study as CSV: deterministic columns first, then how and when each trial ran.
#include "core/words.h"
#include "csv.h"
#include "study_report.h"

namespace trainlab::report {

namespace {

std::string text_in(const Value& info, const char* name) { return info[name].is_string() ? info[name].string() : ""; }

}  // namespace

std::string study_csv(const StudyReport& study) {
  std::vector<std::string> names = {"trial", "state", "value"};
  for (const SpaceParameter& p : study.space.parameters()) names.push_back(p.name);
  names.insert(names.end(), {"seed_values", "parent", "seconds", "ran", "attempt", "worker", "reason"});
  std::string text = csv_row(names);
  for (const StoredTrial& trial : study.trials) {
    std::vector<std::string> row = {std::to_string(trial.number), std::string(trial_state_name(trial.state)),
                                    joined(trial.values, ";", number_text)};
    for (std::size_t i = 0; i < study.space.size(); ++i) row.push_back(csv_text(study.space.param(i, trial.point[i])));
    row.push_back(joined(seed_values(trial), ";", number_text));
    row.push_back(csv_text(trial.info["parent"]));
    row.push_back(csv_text(trial.info["seconds"]));
    row.push_back(text_in(trial.info, "ran"));
    row.push_back(std::to_string(trial.attempt));
    row.push_back(worker_name(trial));
    row.push_back(text_in(trial.info, "reason"));
    text += csv_row(row);
  }
  return text;
}

}  // namespace trainlab::report
