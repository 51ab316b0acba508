// lab.task: a loop written by hand, which survives a resume if it iterates through its context.
//
// The recipe's function is run from its beginning by every process. Loops over ctx:batches and ctx:steps with the
// option `save` survive a resume: a loop that had ended is skipped and its final state restored, and the interrupted
// loop continues at its step. Between loops the function must do the same again, so it may depend only on saved values
// and on keyed randomness; values that it logs on the way there were logged before and are dropped. Used by the
// recipe's thread only.
#pragma once

#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/duration.h"
#include "core/files.h"
#include "core/registry.h"
#include "data/batch_object.h"
#include "data/loader.h"
#include "journal/artifact.h"
#include "journal/checkpoint_rule.h"
#include "journal/logged.h"
#include "journal/not_finite_values.h"
#include "journal/record.h"
#include "journal/script_state.h"
#include "journal/speed.h"
#include "objects/model_object.h"
#include "run/stage.h"

namespace trainlab {

// An object that a loop saves: a model, an optimizer, or a bare tensor.
using Saved = std::variant<std::shared_ptr<Stateful>, at::Tensor>;

struct TaskLoopOptions {
  std::optional<Part> part;  // the loop gives its batches; without a part it gives `steps` step numbers
  LoaderOptions loader;
  std::int64_t epochs = 1, steps = 0;
  std::vector<Saved> save;             // empty: the loop is not durable
  std::optional<Duration> checkpoint;  // from one checkpoint to the next; nullopt: by the default of CheckpointRule
};

class TaskContext;

// A running loop of ctx:batches or ctx:steps.
class TaskLoop : public Object {
 public:
  std::string_view type_name() const override { return "loop"; }

  // Goes to the next step and does the work between steps (checkpoints, observers). False at the end. Raises
  // Error{interrupted}, after a checkpoint, if the run was asked to stop.
  bool next();
  // TaskContext::failed() of the loop's task; false once the task is gone.
  bool failed() const;
  // The present step: its batch (nullptr in a loop of steps), its number from 0, the key of its random numbers.
  std::shared_ptr<BatchObject> batch() const { return batch_; }
  std::int64_t step() const { return done_; }
  std::int64_t epoch() const { return batches_per_epoch_ > 0 ? done_ / batches_per_epoch_ : 0; }
  std::int64_t samples() const;
  Key key() const { return key_.fold(static_cast<std::uint64_t>(done_)); }

 private:
  friend class TaskContext;
  TaskLoop(TaskContext& task, TaskLoopOptions options, std::size_t number, Key key);

  std::int64_t total() const;       // number of steps
  bool advance(TaskContext& task);  // next() without its checks
  Batch fetch();
  // Whether the steps are those of the task's training: a loop within a step of a durable loop has none of its own.
  bool trains(const TaskContext& task) const;
  NamedTensors saved() const;  // live
  void restore(const NamedTensors& tensors, const std::string& prefix) const;
  void finish();
  void end_step(TaskContext& task);
  void tell_observers(TaskContext& task) const;
  // Called when `break` has left the loop: the present step counts.
  void leave();

  std::shared_ptr<TaskContext> task() const;  // Error{recipe} when it has ended

  std::weak_ptr<TaskContext> task_;  // a recipe may keep the loop
  TaskLoopOptions options_;
  std::size_t number_;  // from 1; 0: not durable
  Key key_;
  bool is_rehearsal_;
  std::unique_ptr<Loader> loader_;
  std::int64_t batches_per_epoch_ = 0, samples_per_epoch_ = 0;  // 0: the loop is one of steps
  CheckpointRule checkpoint_;
  std::int64_t done_ = 0;           // steps
  double begun_ = 0, fetched_ = 0;  // readings of steady_seconds() in the present step
  bool started_ = false, ended_ = false;
  bool passed_over_ = false;  // the loop had ended before this process
  std::string hash_;          // the hash of the file with its final state, if it was skipped
  std::shared_ptr<BatchObject> batch_;
};

// Reads the rows that a task logs as they end, and may end the task: a trial is judged by what it logs.
class RowJudge {
 public:
  virtual ~RowJudge() = default;
  // `value` gives the number that the row has under a name, and waits for the device. Each row comes once, also where a
  // task is continued.
  virtual void row(const std::function<std::optional<double>(const std::string& name)>& value) { (void)value; }
  // Asked before each step of the task's training: why the task ends now, if it does. A loop within a step of a durable
  // loop, as one that validates, has no steps of its own.
  virtual std::optional<std::string> over() = 0;
  // Called when such a step has ended.
  virtual void passed() {}
};

// Given from outside to a task.
struct TaskCompany {
  std::vector<std::shared_ptr<Observer>> observers = {};  // called after the observers that every stage has
  std::vector<Resumable> parts = {};                      // what observers and judges keep in the task's checkpoints
  std::vector<std::shared_ptr<RowJudge>> judges = {};
  bool watches_losses = false;  // whether an observer tells of a train.loss or val.loss that is not finite
  bool shows_progress = true;
  SpeedTotal* speed = nullptr;  // as FitCompany::speed
};

// The object `ctx`.
class TaskContext : public Object, public std::enable_shared_from_this<TaskContext> {
 public:
  // `device`: the device of the batches of its loops.
  TaskContext(const StageContext& stage, std::int64_t seed, Value initial_state, at::Device device,
              const TaskCompany& company = {});
  ~TaskContext() override;
  std::string_view type_name() const override { return "ctx"; }

  std::int64_t seed() const { return seed_; }
  std::int64_t step() const { return steps_before_ + (loop_ ? loop_->step() : 0); }
  std::int64_t epoch() const { return loop_ ? loop_->epoch() : 0; }

  // Adds a value to the row of the present step. A tensor must have one element; its value is read later, together with
  // others.
  void log(const std::string& name, Logged value);
  void artifact(const std::string& name, const Artifact& content);
  // checkpoints/NAME.safetensors.
  void save(const std::string& name, const NamedTensors& tensors);
  // Begins a loop. A loop that was left by `break` ends when the next durable loop begins.
  std::shared_ptr<TaskLoop> loop(TaskLoopOptions options);
  // An error has been raised by the work that loops do between steps: observers, checkpoints, fetching batches. The
  // task ends with that error, whatever the recipe does.
  bool failed() const { return failed_; }

  // As in RunHandle.
  ScriptState state;
  std::function<ScriptState()> read_state;
  // Called when a saved state has replaced the state.
  std::function<void()> state_replaced;

  // Ends the task: writes the last rows and a last checkpoint, and returns the summary.
  Value finish();
  // Called when an error has left the function: a recipe that has kept the context cannot use it any more.
  void close();
  // The summary, if a judge or a request to stop has ended the task.
  const std::optional<Value>& early_end() const { return early_end_; }
  // Keys the random numbers that the function draws outside of its loops.
  Key key() const { return key_; }

 private:
  friend class TaskLoop;
  struct Row {
    std::int64_t step, epoch, samples;
    double seconds;
    std::map<std::string, Logged> values;
  };
  // The final state of a loop, which code between loops reads in a resumed task. It is written once, to a file of its
  // own.
  struct FinishedLoop {
    NamedTensors tensors;    // copies of the saved tensors and of those in ctx.state, until they are written
    Value state, on_device;  // on_device: names of the state's tensors that were not on the CPU
    std::int64_t steps = 0;
    std::string hash;  // hash of the file, once it is written
  };

  void check_open() const;  // Error{recipe} when the function has ended
  // Does work of the loops between steps. See failed().
  template <class Work>
  auto between_steps(const Work& work) {
    try {
      return work();
    } catch (const std::exception&) {
      failed_ = true;
      throw;
    }
  }
  // Gives the record the parts that survive a resume beside the loops.
  void list_parts();
  Value last_values() const;
  // The part of the state that can be saved; notes what cannot.
  ScriptState present_state();
  // Between two steps of a durable loop: a state that cannot be saved ends the task now, not at the next checkpoint.
  // The training so far is saved first.
  void check_state(bool at_first_step);
  void replace_state(ScriptState saved);
  // Whether the run's budget of time leaves no room for another step and a checkpoint.
  bool is_out_of_time() const;
  // Measures a step of a loop (see SpeedMeter::stepped).
  void stepped(double begun, double fetched, std::int64_t samples, double transforming);
  // Tells the judges that the step is over.
  void passed();
  void end_row();
  // A step of a loop that is not durable has ended.
  void uncounted_step();
  // Says once, unless a durable loop has begun, what the rows do not hold.
  void warn_of_rows(const std::string& what);
  void flush();
  void show();
  // Writes a checkpoint; then raises what was seen in the state that cannot be saved.
  void commit();
  void write_checkpoint();
  void resume(TaskLoop& loop);
  void loop_ended(TaskLoop& loop);
  // Tells the observers that the task ends, and returns its summary.
  Value end(const std::string& status, const std::string& reason);
  // Ends the task between two steps if one of its judges says so: raises an error that leaves the function, whose
  // summary is early_end(). `is_durable`: the loop under way is, so that a checkpoint can be written.
  void end_if_over(bool is_durable);
  // The steps that are done, those of a checkpoint among them that the task has not caught up with yet.
  std::int64_t reached() const;
  // Makes early_end() the summary. The error that leaves the function follows.
  void end_early(const std::string& status, const std::string& reason, bool is_durable);
  SpeedFigures speed() const;
  // The total of the trainings to which this one belongs counts the task, once.
  void count_speed();

  std::string name_;
  std::int64_t seed_;
  at::Device device_;
  Key key_;
  bool is_rehearsal_;  // loops take at most two steps
  Record record_;
  SpeedTotal own_speed_;  // of a task that belongs to no other total
  SpeedWords words_at_end_;
  SpeedMeter speed_;
  std::function<void(const std::string&)> warn_;
  std::function<double()> seconds_left_;  // see StageContext
  double longest_step_ = 0, commit_seconds_ = 0.05;
  bool is_cut_short_ = false;  // a loop has ended because the time was over

  std::map<std::string, Logged> logged_;  // of the present step
  std::vector<Row> rows_;                 // not yet written
  std::int64_t epoch_ = 0, samples_ = 0;  // of the latest row
  bool to_show_ = false;                  // rows were written since the last progress line
  bool has_logged_ = false;               // since the step under way began
  int uncounted_steps_ = 0;               // that have logged
  bool has_warned_of_rows_ = false;
  std::map<std::string, double> last_;  // of each name
  NotFiniteValues not_finite_;
  std::vector<FinishedLoop> finished_;
  std::shared_ptr<TaskLoop> loop_;  // the durable one under way
  std::size_t loops_ = 0;           // begun
  std::int64_t steps_before_ = 0;   // of finished loops
  std::optional<Checkpoint> from_;  // the checkpoint, until the loop in which it was made is reached again
  std::vector<std::shared_ptr<RowJudge>> judges_;
  bool watches_losses_;  // TaskCompany::watches_losses
  std::optional<Value> early_end_;
  StateLooks state_looks_;
  std::optional<Error> state_fault_;
  bool complete_ = false;  // the function has returned, or an error has left it
  bool failed_ = false;
};

// Runs the function of a `lab.task` to its end, or until a judge ends it, and returns the summary. Errors are those
// of the function, of observers and of files; the checkpoints then stay as they are.
Value run_task(const Options& task, const StageContext& context, const TaskCompany& company = {});

// The text of `trainlab check` for the function of a `lab.task`; with --callbacks the function is called, without a
// folder, and each of its loops takes at most two steps. Errors are those of the function.
Checked check_task(const Options& task, const RunSettings& settings, const CheckedToo& too);

// Gives each lab.task that runs by itself company from a room above, before it begins.
using TaskAddition = std::function<void(const Options& task, const StageContext& context, TaskCompany& company)>;

// Adds the entry "task" and those of its context.
void register_task(Registry& registry, const std::vector<TaskAddition>& additions = {});

}  // namespace trainlab
