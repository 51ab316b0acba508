// The facts about a sweep, an ensemble or a study's file, read once from the study and its summary for all forms of
// report.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "stages.h"
#include "study/importance.h"
#include "study/space.h"
#include "study/spread.h"
#include "study/storage.h"

namespace trainlab::report {

inline constexpr std::size_t leaders = 10;  // trials that are shown in full
inline constexpr std::size_t failures = 5;  // failed trials whose reason is shown

struct Objective {
  std::string metric;
  bool maximize = false;
};

// The reports of a trial on the first objective: means over the repeats that got as far.
struct Curve {
  std::int64_t trial = 0;
  std::vector<std::int64_t> resources;  // validations, from 1
  std::vector<double> values;
};

struct StudyReport {
  StageView stage;
  Value description;  // nil if no trial was begun yet
  std::vector<Objective> objectives;
  Space space{{}};
  std::vector<StoredTrial> trials;       // in number order
  std::vector<std::size_t> best;         // places in `trials`: the leaderboard, or with several objectives the front
  std::vector<std::size_t> failed;       // places in `trials` of the first that failed
  std::optional<double> seconds;         // of training, all trials together
  std::vector<Importance> importance;    // by objective
  std::vector<Curve> curves;             // of the leaders that reported anything
  std::vector<double> seed_deviations;   // of the leaders, NaN where unknown
  double seed_deviation = std::nan("");  // of one seed, as is usual among the leaders; NaN where unknown

  bool has_front() const { return objectives.size() > 1; }
  std::int64_t count(TrialState state) const;
  std::size_t shown() const { return std::min(best.size(), leaders); }
  const StoredTrial& leader(std::size_t rank) const { return trials[best[rank]]; }
  // Whether the best trials were trained again on fresh seeds, of which the summary's `best` has the value.
  bool is_confirmed() const { return stage.summary["best"]["observed"].is_number(); }
  // How many configurations were compared: the different points of trials with a value, those of pruned trials too.
  // With a scheduler, a configuration has several trials.
  std::int64_t compared() const;
  // By how many standard deviations of a seed the best value may be too good, at most, because it is the best of all
  // these; nullopt where it is known better, or where nothing was chosen.
  std::optional<double> optimism() const;
  // The trial that the stage names as its best; of a stage without a summary the first of the leaderboard.
  const StoredTrial& winner() const;
  // The values of the winner's seeds, NaN where one has none: those of the fresh seeds where the best trials were
  // trained again, because the seeds of the search have chosen it.
  std::vector<double> winner_values() const;
};

// `all`: `info` of all trials, not only of the leaders and of those in `failed`. Raises what StudyPlace::read does.
StudyReport read_study_report(StageView stage, bool all);

// Whether `given` means a study's file, as lab.study { file = … } makes it, and not a run's folder.
bool is_study_file(const std::filesystem::path& given);
// The same of such a file; the report's stage is of kind "study" and has no summary. Error{usage} where the file holds
// no study.
StudyReport read_study_file(const std::filesystem::path& file, bool all);

// `seed_values` of a trial's info, NaN where one has none.
std::vector<double> seed_values(const StoredTrial& trial);
// "HOST:PID" of the process that had it last.
std::string worker_name(const StoredTrial& trial);
// The first value, NaN where there is none.
double value_of(const StoredTrial& trial);

std::string study_text(const StudyReport& study);
std::string ensemble_text(const StudyReport& study);
std::string study_csv(const StudyReport& study);
// The stage's summary with all the rest beside it: see docs/reports.md.
Value study_value(const StudyReport& study);

}  // namespace trainlab::report
