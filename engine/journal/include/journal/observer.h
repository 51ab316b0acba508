// Observers watch one member of a fit, or one task, and change nothing of its arithmetic: the progress line,
// TensorBoard events, and observers given from outside. Rows of metrics.jsonl and checkpoints are written by the
// Record; a recipe's functions are called by the member or the task itself.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/callable.h"
#include "core/value.h"
#include "forecast/forecast.h"

namespace trainlab {

// A step of one member, or of a durable loop of a task. The numbers are in host memory: reading them never makes a
// device wait.
struct StepView {
  std::int64_t step = 0;         // steps done, this one included
  std::int64_t epoch = 0;        // epochs completed before this step's batch
  std::int64_t samples = 0;      // in a task, of the present loop, as the epoch is
  double rate = 0;               // learning rate of the member in this step; NaN in a task
  std::int64_t total_steps = 0;  // with which the fit will end, an estimate where a budget ends it; 0: unknown
};

// A validation: metrics by full name, for one member. In a task, the latest value of each name that was logged.
struct ValidationView {
  std::int64_t step = 0, epoch = 0, samples = 0;
  double seconds = 0;                     // since the first batch, resumes included
  double rate = 0;                        // NaN if there is no single rate
  std::int64_t total_steps = 0;           // with which the fit will end, as in StepView; 0 in a task
  bool best = false;                      // this validation is the best so far
  std::map<std::string, double> metrics;  // "train.loss", "val.loss", "val.accuracy", logged values
  // The final value of the monitored metric, computed when it is asked for; null in a task. To be called before the
  // hook returns.
  std::function<std::optional<Forecast>()> forecast = {};
  // Whether the schedule lowers the rate before the end, or may do so (Schedule::may_fall); null in a task. To be
  // called before the hook returns.
  std::function<bool()> may_rate_fall = {};
};

// A row that a task has logged. The numbers are in host memory.
struct RowView {
  std::int64_t step = 0;                        // done in durable loops
  const std::map<std::string, double>& values;  // by the name of the log
};

struct FitView {  // known when a fit starts; of a task only the name and the first step are
  std::string name;
  std::int64_t total_steps = 0;  // 0: unknown (a time budget)
  std::int64_t steps_per_epoch = 0;
  std::int64_t batch = 0;
  std::int64_t first_step = 0;  // > 0 when resumed
  std::int64_t parameters = 0;
  std::string monitor;
  double time_budget = 0;          // seconds; 0: none
  double seconds_before = 0;       // of the budget, used before this start
  std::weak_ptr<Object> run = {};  // the object that the recipe's functions get; of a task none
};

// Called on the thread that trains. An error that a hook raises ends the fit or the task, and the checkpoints stay as
// they are; in a group an error of the recipe's kind ends the member alone.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void started(const FitView&) {}
  // Called after steps for which wants_step(step) is true; the default is never.
  virtual bool wants_step(std::int64_t step) {
    (void)step;
    return false;
  }
  virtual void stepped(const StepView&) {}
  // Called after each validation; in a task at the end of an epoch, of a durable loop of steps and of the task, if rows
  // were written since the call before.
  virtual void validated(const ValidationView&) {}
  // In a task: called with each row that it logs, in their order, when the numbers of several rows have been read. A
  // row that is logged again because the task was resumed at an earlier step is told again.
  virtual void logged(const RowView&) {}
  // Called with the warning of a call that a step function of the recipe has forgotten, once for each such call.
  virtual void forgot(const std::string& warning) { (void)warning; }
  // Adds to the summary what the observer has found, under a name of its own. Called whenever a summary is made.
  virtual void add_to(Value& summary) { (void)summary; }
  // Called at the end, also at a request to stop (status "interrupted"). An error that leaves the fit or the task is
  // not told.
  virtual void finished(const Value& summary) { (void)summary; }
};

}  // namespace trainlab
