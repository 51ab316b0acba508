// StudyProgress: the lines about how far a study has come, with an estimate of the time that is left.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "plan/study_plan.h"
#include "run/stage.h"
#include "study/study.h"

namespace trainlab {

class StudyProgress {
 public:
  // `study`: the copy of this process. `seconds`: a monotonic clock. `used`: seconds of a budget of time that the study
  // has used so far.
  StudyProgress(const StudyPlan& plan, const StageContext& context, const Study& study, std::function<double()> seconds,
                double used = 0);

  // Takes in which trials run now and which have ended: called when trials have begun, and by show().
  void look();
  // Says a line when one is due: after trials have ended, and now and then while trials run.
  void show();
  // Whether enough time has passed for a line about trials that run.
  bool is_due() const;

 private:
  // A trial that runs: since when this process knows it, and with how many reports it came.
  struct Seen {
    double begin;
    std::int64_t reports;
  };
  struct Mean {
    double sum = 0, count = 0;
    void add(double x) { sum += x, ++count; }
    double value() const { return sum / count; }
  };

  std::int64_t reports_of(std::int64_t trial) const;
  std::optional<double> length_of(std::int64_t trial) const;
  std::optional<double> seconds_left_of(std::int64_t trial, const Seen& seen) const;
  std::optional<double> seconds_left() const;

  const StudyPlan& plan_;
  const StageContext& context_;
  const Study& study_;
  std::function<double()> seconds_;
  double own_end_;  // of the stage's own time, by that clock; infinite without such a time
  double now_ = 0, said_ = 0;
  std::int64_t told_ = 0;  // number of ended trials in the last line
  std::map<std::int64_t, Seen> running_;
  std::size_t most_running_ = 0;  // at the same time
  Mean lengths_;                  // of complete trials, in reports
  Mean durations_;                // of the ended trials that this process has seen begin, in seconds
};

}  // namespace trainlab
