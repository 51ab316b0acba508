// TrialRows: the rows of a trial that is a task, reported to the study as the validations of a fit are.
#pragma once

#include "task/task.h"
#include "trials/trial_watch.h"

namespace trainlab {

// A report is a row that has all metrics of the study.
class TrialRows final : public RowJudge {
 public:
  TrialRows(const StudyPlan& plan, Reports& reports, LeasedTrial& trial, std::int64_t repeat)
      : plan_(plan), watch_(plan, reports, trial, repeat) {}

  void row(const std::function<std::optional<double>(const std::string&)>& value) override;
  std::optional<std::string> over() override { return watch_.all_validated(); }

  // The part of the task's checkpoints that counts the reports.
  Resumable part();

 private:
  const StudyPlan& plan_;
  TrialWatch watch_;
};

}  // namespace trainlab
