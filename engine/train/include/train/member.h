// Member: everything about one model of a group that is not arithmetic: its schedule, stop rules, best weights,
// metrics, callbacks, folder and checkpoints.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "forecast/forecast.h"
#include "journal/not_finite_values.h"
#include "journal/record.h"
#include "objects/run_handle.h"
#include "run/stage.h"
#include "train/fit.h"
#include "train/fit_plan.h"
#include "train/rules.h"
#include "train/stop.h"
#include "train/trained.h"

namespace trainlab {

// Where the loop is; part of every checkpoint. Derived numbers (epoch, samples) are computed, not stored.
struct Position {
  std::int64_t step = 0;  // optimizer steps done
  std::int64_t steps_per_epoch = 1;
  std::int64_t samples_per_epoch = 0;
  std::int64_t batch = 0;

  std::int64_t epoch() const { return step / steps_per_epoch; }
  // Samples of the present epoch that were used.
  std::int64_t in_epoch() const { return std::min(step % steps_per_epoch * batch, samples_per_epoch); }
  std::int64_t samples() const { return epoch() * samples_per_epoch + in_epoch(); }
};

// Gradients of fewer steps than these may still add up to a step of the optimizer.
constexpr std::int64_t accumulated_steps = 10;

class FinishedCurves;
struct Efficiency;
class FitHandle;

class Member {
 public:
  // `plan` is the group's.
  Member(const FitPlan& plan, const FitMember& fit, Trained& trained, std::size_t index);
  ~Member();

  // The rate of the coming step, and the factors of momentum and weight decay.
  struct StepValues {
    double rate = 0, momentum = 1, weight_decay = 1;
  };
  StepValues values(std::int64_t step);

  // Continues from the newest checkpoint of the folder: restores this member and its slice of the group. Returns the
  // checkpoint's step; without a checkpoint 0, after emptying the metrics.jsonl that an earlier start has left.
  std::int64_t resume();

  void start(const Position& position);
  // After a step; calls observers and the recipe's functions that want it.
  void stepped(const Position& position, double rate);
  // A validation's metrics (those of training are added here) and reports; keeps the best weights; asks the stop rules.
  // A validation loss that is not finite then ends the member as failed, unless a rule has stopped the member.
  // `ends_epoch`: the epoch has ended, too, and what on.epoch logs belongs to the row of this validation.
  void validated(const Position& position, MetricMap metrics, Value reports, bool ends_epoch);
  // The rest of a validation whose metrics are there: callbacks, the row, what other rooms tell, the stop rules.
  void conclude_validation(const Position& position, bool ends_epoch);
  // Where the last attempt broke off after a step that was saved; empty otherwise: a callback by its name, "tell" for
  // what other rooms tell, "stop" for the stop rules, "validation" for the measuring before them. It and what comes
  // after it at this step are still to come.
  const std::optional<std::string>& broken_off() const { return broken_off_; }
  // Calls on.step, in which the last attempt broke off.
  void repeat_step_callback() { call("step", position_); }
  void break_off(const char* where) { broken_off_ = where; }
  void went_on() { broken_off_.reset(); }  // past the callback
  // The path of what cannot be saved in run.state, and is missing in checkpoints; empty where all is saved.
  std::string left_out() const;
  // All members of the group have been validated: asks the stop rules again, by StopRule::all_validated().
  void all_validated();
  // A warning for each of these metrics that is NaN or infinite for the first time.
  void tell_not_finite(const MetricMap& metrics);
  // Calls on.epoch, at most once at a step.
  void epoch_ended(const Position& position);
  // False for a fit without a folder, where nothing is written.
  bool is_kept() const { return record_.is_kept(); }
  // The next checkpoint; nothing in a fit that is not kept.
  std::optional<Checkpoint> gather(const Position& position);
  // Writes a checkpoint that gather() gave, on any thread while nobody else uses the member.
  void write(const Checkpoint& checkpoint) { record_.write(checkpoint); }

  // Why this member stops, when it does.
  const std::optional<std::string>& stop_reason() const { return stop_reason_; }
  const std::optional<std::string>& failure() const { return failure_; }
  // Metrics of the latest validation, by full name.
  const MetricMap& metrics() const { return metrics_; }
  void stop(const std::string& reason);
  // Ends with status "failed". The checkpoints stay as they are, and the best weights so far are written. A second
  // reason is told after the first.
  void fail(std::string reason);
  // The step of the latest validation, resumes included; −1 before the first.
  std::int64_t validated_step() const { return validated_step_; }
  bool active() const { return !stop_reason_ && !failure_; }
  // True once the member has stopped and its last validation is done.
  bool has_settled() const { return !active() && (failure_ || validated_step_ == position_.step); }
  // From here on the member is row `index` of `trained`.
  void move_to(Trained& trained, std::size_t index) {
    trained_ = &trained;
    index_ = index;
  }
  // The object that the recipe's functions get.
  std::shared_ptr<Object> handle() const;
  // The gradient readers of the stop rules; they live as long as the member.
  std::vector<GradientReader*> gradient_readers() const;

  // Puts the weights that are kept into the group, for the test part and for the recipe's function at the end.
  void restore_kept();
  // summary.json's fields of a fit; `test` and `test_reports` are the test part's.
  // `interrupted`: the fit was asked to stop before its end.
  Value summary(const MetricMap& test, const Value& test_reports, bool interrupted) const;
  // Tells how the member ended. What the recipe's function logs is added to the summary and to the last row.
  void finished(Value& summary);

  double seconds() const { return record_.seconds(); }
  // Where this member is: it stays behind the group's once it has stopped.
  const Position& position() const { return position_; }
  // The steps with which the fit will end: its length, or an estimate where a budget of time or FLOPs ends it before.
  void set_total(std::int64_t total_steps);
  double rate();  // RunHandle::rate()
  // `speed` gives the figures that the loop has measured so far; RunHandle::speed() calls it.
  void set_speed(std::function<Value()> speed) { speed_ = std::move(speed); }

 private:
  friend class FitHandle;
  struct Best {
    double value = 0;
    std::int64_t step = 0, epoch = 0;
    MetricMap metrics;
    Value reports;
    NamedTensors weights;  // model.…, where the plan keeps the best
  };

  Progress progress(const Position& position) const;
  // The step of forecasts: the end of the fit, or after a budget has ended it the length that it was to have.
  std::int64_t forecast_step() const;
  // Whether the schedule lowers the rate by more than a tenth until then, be it after a rise.
  bool rate_falls() const;
  // Whether it does, or may do so (Schedule::may_fall).
  bool may_rate_fall() const;
  // Whether a rule or a function of the recipe has ended the fit, and no budget.
  bool is_ended_by_recipe() const;
  Efficiency efficiency(const MetricMap& metrics) const;
  // The final value of the monitored metric, of the weights that will be kept; nullopt where nothing can be said. Once
  // a rule has ended the fit, what training on would bring, by the fit's own curve: finished runs have the same rules.
  std::optional<Forecast> forecast() const;
  double metric(const std::string& name) const;
  void say_that_no_best_was_kept() const;
  // A warning where the fit was too short for its average of weights.
  void say_what_the_average_lacks() const;
  // Once, where at least this many steps of a step function have left all weights as they were.
  void say_that_no_weight_moves(std::int64_t least);
  // Once, where at least this many optimizer steps of a step function were taken with gradients of the step before.
  void say_that_gradients_add_up(std::int64_t least);
  // A warning of a call that the step function has forgotten.
  void say_what_the_step_forgets(const std::string& fault, const std::string& hint) const;
  Value part_sizes() const;
  void check_data(const Checkpoint& checkpoint) const;
  void say_changed_data(const Value& before, const char* since, const char* so) const;
  void check_extension(std::int64_t before) const;
  // Rules that are new in a mended recipe begin anew. `tensors`: all of the checkpoint.
  void restore_rules(const Value::List& states, const NamedTensors& tensors);
  // Writes what run:save asked for.
  void write_saves(const Position& position);
  // Tells the record what survives a resume.
  void list_parts();
  // Asks the stop rules after a validation, as if for the first time where one of them has raised an error before.
  void ask_rules(const Position& position);
  // Calls the callback, if there is one, and raises what was seen in run.state that cannot be saved.
  void call(const char* callback, const Position& position);
  // The same for the functions of other rooms.
  void tell(const Position& position);
  // Makes calls of the recipe's functions between two steps. `where`: broken_off() after an error.
  template <class Calls>
  void between_steps(const char* where, Calls&& calls);
  // The part of a validation before other rooms and the stop rules hear of it.
  void add_row(const Position& position, bool ends_epoch);
  // Moves what was logged into the metrics.
  void take_logged(MetricMap& metrics);

  const FitPlan& plan_;
  Options options_;
  StageContext context_;
  Trained* trained_;
  std::size_t index_;
  Key key_, callback_key_;
  double base_rate_, last_rate_ = 0;
  Schedules schedules_;
  std::vector<std::shared_ptr<StopRule>> stop_rules_;
  std::map<std::string, std::shared_ptr<Callable>, std::less<>> callbacks_;
  std::vector<Teller> tellers_;
  Record record_;
  std::function<Value()> speed_;

  std::shared_ptr<FitHandle> handle_;
  MetricMap metrics_;                     // of the latest validation
  Value reports_;                         // of metrics in it, by full name; nil without
  std::map<std::string, Logged> logged_;  // run:log since the latest validation
  NotFiniteValues not_finite_;
  bool has_said_that_no_weight_moves_ = false, has_said_that_gradients_add_up_ = false;
  std::optional<Best> best_;
  LearningCurve curve_;  // of the monitored metric
  std::unique_ptr<FinishedCurves> kept_curves_;
  std::vector<FinishedCurve> finished_curves_;  // of earlier runs of this fit
  std::int64_t total_steps_;                    // with which the fit will end, see set_total(); 0: unknown
  std::optional<RunHandle::SetRate> set_rate_;
  std::optional<std::string> stop_reason_, failure_, broken_off_;
  std::vector<std::string> saves_;
  std::int64_t validated_step_ = -1, epoch_step_ = -1;  // of the latest calls
  bool is_extended_ = false;                            // the run has become longer since the checkpoint
  bool has_ended_ = false;                              // all is saved
  Position position_;
};

}  // namespace trainlab
