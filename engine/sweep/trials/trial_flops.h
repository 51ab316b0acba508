// TrialFlops: which trials of a study a budget of FLOPs allows, and how much each may use. Each answer depends on the
// trials before this one alone, by number: on what those that have ended have used, and on what the others are planned
// to use. So a trial that was killed and is trained again gets the same answer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "trials/trial_plans.h"

namespace trainlab {

class TrialFlops {
 public:
  // `most`: of the whole study, infinite without a budget. `planned`: the FLOPs of a trial that has begun if it trains
  // to its end, infinite for one whose end is known by its time alone: such trials have equal parts, one a worker.
  TrialFlops(double most, int workers, const SharedStudy& study, std::function<double(std::int64_t trial)> planned);

  // The number of trials that the study may have by now. A trial may begin if as much is left for it as the largest one
  // before it uses, and once no trial waits: those that wait are begun whatever is left.
  std::int64_t most_trials();
  // Whether no trial may begin any more. One that runs may use less than it is planned to use.
  bool are_used();
  // Whether all that the trial is planned to use is left for it.
  bool fits(std::int64_t trial);
  // The FLOPs that the trial may use: infinite if it fits.
  double cap(std::int64_t trial);

 private:
  struct Before {
    double left = 0, largest = 0;
  };
  Before before(std::int64_t trial);
  double planned(std::int64_t trial);
  double to_come(std::int64_t trial);

  double most_, part_;
  const SharedStudy& study_;
  std::function<double(std::int64_t)> plan_;
  std::map<std::int64_t, double> planned_;  // by trial, because planning is work
};

// The FLOPs of all repeats of a trial that has begun, if they train to their end: infinite where only the time ends
// them, 0 for a trial that cannot be built. Those of its parent do not count.
double planned_flops(const StudyPlan& plan, const SharedStudy& study, TrialPlans& plans, std::int64_t trial);

// The FLOPs of the parent of a trial, with whose checkpoint this repeat has begun; 0 for a trial without a parent.
// `stage`: the folder of the sweep or ensemble.
double inherited_flops(const std::filesystem::path& stage, const Segment& segment, std::int64_t repeat);

// The warning about a trial that had `left` FLOPs of the budget and ended when these were used; empty for any other.
std::string text_of_cut(const BuiltTrial& trial, double left, const std::function<double(std::int64_t trial)>& planned);

}  // namespace trainlab
