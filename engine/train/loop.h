// The step loop over a group of members: batches, steps, validations, checkpoints, budgets, the end.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "journal/speed.h"
#include "memory/fit_memory.h"
#include "pace.h"
#include "train/evaluator.h"
#include "train/fit.h"
#include "train/member.h"

namespace trainlab {

class ReaderPass;

class FitLoop {
 public:
  FitLoop(const FitPlan& plan, std::span<const FitMember> members, bool axis, const FitCompany& company = {});
  ~FitLoop();

  // To the end, or to the step boundary after a stop request. A summary per member.
  std::vector<Value> run();

 private:
  void resume();
  // The group, its batches and evaluation, for the members that there are.
  void make_rows();
  // Gives the gradients of each row to the stop rules of its member.
  void listen_to_gradients();
  // Removes members that have ended, once that saves at least half of the rows.
  void compact();
  // Steps to the end, or to the step boundary after a stop request.
  std::vector<Value> train();
  // Whether a training whose fault was found can go back.
  bool may_go_back(bool has_ended) const;
  void tell_between_steps(bool may_go_back);
  template <class Work, class Explain>
  auto within_limit(Work&& work, Explain&& explain);
  void train_step();
  // Does the work after a step: callbacks, a validation, a checkpoint.
  void end_step();
  // After an error of the recipe: saves the steps that are done, as far as they are whole. Nothing where a resume would
  // find no more than a new run has.
  std::optional<SavedError> saved(const Error& error);
  // The rest of the step at which the last attempt broke off.
  void go_on_from_callback();
  bool breaks_off_in_validation() const;
  // Tells that batches go through the model in smaller parts from this step on.
  void tell_micro_batch();
  // Ends a member for which Trained::failure() has a reason, and returns whether there is one. Waits for the device.
  bool has_failed(std::size_t m);
  // Ends a member whose training has failed in this step, and returns false then. Waits for the device.
  bool check_step(std::size_t m);
  // `ends_epoch`: an epoch has ended with the present step.
  void validate(bool ends_epoch);
  std::vector<MetricMap> measure(Evaluator& evaluator);
  // The same on the validation part; a run whose recipe raises an error there is saved as broken off at this place.
  std::vector<MetricMap> measure_validation();
  // Does what concerns one member only.
  template <class F>
  void of_one(Member& member, F&& work);
  // Writes checkpoints, and tells the loop's observers if any was written.
  void commit(std::span<const std::size_t> members);
  void commit_all();
  bool is_checkpoint_due(bool after_validation) const;
  bool finished();
  // Until the budget of time of the fit, or of its run, is used; infinity without one.
  double seconds_left() const;
  double own_seconds_left() const;
  double run_seconds_left() const;
  void estimate_total();
  // A warning where what follows the last step takes far longer than the budget of time has left.
  void warn_of_lateness(double left);
  bool any_active() const;
  // Whether each member that has not failed was validated where it is.
  bool is_validated() const;
  // Tests these members' kept weights and tells how they ended.
  void end(std::span<const std::size_t> members, bool interrupted);
  std::vector<Value> end_all(bool interrupted);
  // The field `speed` of the summaries, as it is now.
  SpeedFigures speed() const;

  const FitPlan& plan_;
  bool is_group_;
  FitCompany company_;
  std::shared_ptr<ReaderPass> readers_;  // a pass of company_ where gradients exist all together
  std::vector<FitMember> fits_;
  std::vector<std::size_t> places_;  // of the members among those with which the loop began
  std::vector<Value> summaries_;     // by place
  FitMemory memory_;
  Pace pace_;
  double given_seconds_ = 0;  // of the budgets of time, when this process began
  double most_steps_;         // for which the run's budget has FLOPs
  std::int64_t axis_ = 0;     // rows of the group's leading axis, 0 without one; members_ are the first of them
  std::unique_ptr<Trained> trained_;
  std::vector<std::unique_ptr<Member>> members_;
  std::unique_ptr<Loader> loader_;
  std::unique_ptr<Evaluator> validation_;

  Position position_;
  std::vector<Batch> batches_;                           // of the present step
  std::vector<double> rates_, momentum_, weight_decay_;  // by row
  std::vector<std::uint8_t> active_;                     // ditto; padding never is
  std::int64_t recorded_until_ = 0;                      // the memory of the steps before this one is recorded
  bool commits_now_ = false;  // a checkpoint is due: another start might not choose the same micro-batch
  SpeedTotal own_speed_;      // of a fit that belongs to no other total
  SpeedMeter speed_;
  double last_commit_ = 0;
  std::int64_t committed_step_ = 0;  // of the newest checkpoint; 0 without one
  bool is_in_step_ = false;          // from the begin of a step of `trained_` until the step is done
  bool is_ending_ = false;           // all is committed, and the weights are those that are kept
};

}  // namespace trainlab
