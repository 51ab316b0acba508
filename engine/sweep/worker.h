// Worker: one process's part in a study: it asks for trials, trains them and tells how they ended, until no work is
// left. All processes of a study do the same; there is no coordinator.
#pragma once

#include <functional>
#include <limits>
#include <memory>

#include "plan/study_plan.h"
#include "study/lease_keeper.h"
#include "study_home.h"
#include "study_progress.h"
#include "trial_seconds.h"
#include "trials/trial_fits.h"
#include "trials/trial_flops.h"
#include "used_time.h"

namespace trainlab {

class Worker {
 public:
  // Opens the stage's study, or makes a new study. Error{usage} if the study has another space.
  // `speed`: of all trainings of the stage, which may have several studies. `seconds`: the clock of its budget of time
  // and of its lines about the progress.
  Worker(const StudyPlan& plan, const StageContext& context, SpeedTotal& speed, std::function<double()> seconds);

  enum class End { complete, interrupted };
  // Raises Error{run} if more trials have failed than the stage allows, and errors that end the whole stage.
  End run();

  const SharedStudy& study() const { return study_; }
  // Whether time or the lack of improvement ended the study before all trials were begun.
  const std::optional<std::string>& stopped() const { return stopped_; }
  // The seconds of a budget of time that the study has used; nullopt without a budget, or in an engine that helps.
  std::optional<double> used_seconds() const;
  // The time of the trials of all processes; those that this process has trained count by its own clock.
  const TrialSeconds& trial_seconds() const;
  const std::function<double()>& clock() const { return seconds_; }
  SpeedTotal& speed() const { return speed_; }

 private:
  End work();
  std::vector<LeasedTrial> ask();
  bool take(std::vector<LeasedTrial>& trials);
  bool has_time_for(std::span<const LeasedTrial> before, std::int64_t trial, const Segment& segment) const;
  bool while_leased(std::span<const LeasedTrial> trials, const std::function<void()>& work);
  std::optional<std::string> lost(std::span<const LeasedTrial> trials) noexcept;
  bool waits_for_another(std::span<const LeasedTrial> trials) const;
  std::optional<TrialEnd> known_end(const LeasedTrial& trial) const;
  void train(std::vector<LeasedTrial> trials);
  void tell(std::span<const LeasedTrial> trials, std::span<const TrialEnd> ends);
  void give_back(std::span<const LeasedTrial> trials) noexcept;
  void settle();
  void check_failures() const;
  bool leads() const { return !context_.helps && !home_.is_joined; }
  void learn_seconds(std::span<const LeasedTrial> trials, double seconds);
  double seconds_left() const;
  double own_seconds_left() const;
  double run_seconds_left() const;
  std::string why_over();
  bool are_flops_used();
  void tell_deadline();
  void check_time();
  void show();
  void reported();

  const StudyPlan& plan_;
  const StageContext& context_;
  StudyHome home_;
  std::optional<UsedTime> used_;
  SharedStudy study_;
  LeaseKeeper keeper_;
  TrialWarnings warnings_;
  TrialPlans plans_;
  SpeedTotal& speed_;
  TrialFits fits_;
  TrialFlops flops_;
  StudyProgress progress_;
  std::function<double()> seconds_;
  double told_deadline_ = std::numeric_limits<double>::infinity();  // by the wall clock
  mutable TrialSeconds trial_seconds_;
  mutable std::int64_t ended_ = 0;  // the trials that trial_seconds_ counts
  bool wait_ = false;               // the last ask() found no trial now, because others are at work
  std::optional<std::string> stopped_;
};

// Opens the study of a stage as a copy of this process.
SharedStudy open_study(const StudyPlan& plan, const StageContext& context, const StudyHome& home);

}  // namespace trainlab
