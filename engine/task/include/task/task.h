// lab.task: a loop written by hand, durable where it iterates through its context.
//
// The recipe's function is run from its beginning by every process. Loops over ctx:batches and ctx:steps that name what
// they train (`save`) are what survives: a loop that had ended is passed over with the state that it left behind, the
// one that was interrupted goes on at its step. Between loops the function must do the same again, which it does as long
// as it depends on what is saved and on keyed randomness only; what it logs on the way there was logged already and is
// dropped. Used by the recipe's thread only.
#pragma once

#include <filesystem>
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
#include "journal/logged.h"
#include "journal/record.h"
#include "journal/script_state.h"
#include "objects/model_object.h"
#include "run/stage.h"

namespace trainlab {

// What a loop saves: models, optimizers, bare tensors.
using Saved = std::variant<std::shared_ptr<Stateful>, at::Tensor>;

struct TaskLoopOptions {
  std::optional<Part> part;  // batches of it; without one a loop of `steps` steps
  LoaderOptions loader;
  std::int64_t epochs = 1, steps = 0;
  std::vector<Saved> save;             // empty: the loop is not durable
  std::optional<double> checkpoint_seconds;
  std::optional<Duration> checkpoint;  // as given, steps or epochs
};

class TaskContext;

// One pass through ctx:batches or ctx:steps.
class TaskLoop : public Object {
 public:
  std::string_view type_name() const override { return "loop"; }

  // Goes to the next step, with what belongs between two: checkpoints, the end. False at the end. Raises
  // Error{interrupted} after a checkpoint when the run was asked to stop.
  bool next();
  // Of the present step: its batch (nullptr for a loop of steps), its number from 0, the key of its random numbers.
  std::shared_ptr<BatchObject> batch() const { return batch_; }
  std::int64_t step() const { return done_; }
  std::int64_t epoch() const { return batches_per_epoch_ > 0 ? done_ / batches_per_epoch_ : 0; }
  std::int64_t samples() const;
  Key key() const { return key_.fold(static_cast<std::uint64_t>(done_)); }

 private:
  friend class TaskContext;
  TaskLoop(TaskContext& task, TaskLoopOptions options, std::size_t number, Key key);

  std::int64_t total() const;
  NamedTensors saved() const;  // live
  void restore(const NamedTensors& tensors, const std::string& prefix) const;
  void finish();
  // By `break`: the step under way counts.
  void leave();

  std::shared_ptr<TaskContext> task() const;  // Error{recipe} when it has ended

  std::weak_ptr<TaskContext> task_;  // a recipe may keep the loop
  TaskLoopOptions options_;
  std::size_t number_;  // from 1; 0: not durable
  Key key_;
  std::unique_ptr<Loader> loader_;
  std::int64_t batches_per_epoch_ = 0, checkpoint_every_ = 0;
  std::int64_t done_ = 0;  // steps
  bool started_ = false, ended_ = false;
  bool passed_over_ = false;  // it had ended before the process that goes on now
  std::string hash_;          // then that of the file with what it left behind
  std::shared_ptr<BatchObject> batch_;
};

// The object `ctx`.
class TaskContext : public Object, public std::enable_shared_from_this<TaskContext> {
 public:
  // Its loops give batches on `device`.
  TaskContext(const StageContext& stage, std::int64_t seed, Value initial_state, at::Device device);
  ~TaskContext() override;
  std::string_view type_name() const override { return "ctx"; }

  std::int64_t seed() const { return seed_; }
  std::int64_t step() const { return steps_before_ + (loop_ ? loop_->step() : 0); }
  std::int64_t epoch() const { return loop_ ? loop_->epoch() : 0; }

  // Of the row of the present step. A tensor has one element and is read later, with others.
  void log(const std::string& name, Logged value);
  void artifact(const std::string& name, const Artifact& content);
  // checkpoints/NAME.safetensors.
  void save(const std::string& name, const NamedTensors& tensors);
  // A loop that was not left by its end was left by `break`, and has ended when the next durable one begins.
  std::shared_ptr<TaskLoop> loop(TaskLoopOptions options);

  // As of RunHandle.
  ScriptState state;
  std::function<ScriptState()> read_state;
  // Told when the state was replaced by a saved one.
  std::function<void()> state_replaced;

  // The end of the function: the last rows, a last checkpoint, the summary.
  Value finish();
  // Keys the random numbers that the function draws outside of its loops.
  Key key() const { return key_; }

 private:
  friend class TaskLoop;
  struct Row {
    std::int64_t step, epoch, samples;
    double seconds;
    std::map<std::string, Logged> values;
  };
  // What a loop left behind, for code between loops reads it when a resumed task comes by again. It is written once, to
  // a file of its own.
  struct FinishedLoop {
    NamedTensors tensors;  // copies of what it saves and of ctx.state's, until they are written
    Value state, on_device;  // on_device: names of the state's tensors that were not on the CPU
    std::int64_t steps = 0;
    std::string hash;  // of the file, once it is there
  };

  void check_open() const;  // Error{recipe} when the function has returned
  // Tells the record what survives a resume beside the loops.
  void list_parts();
  Value last_values() const;
  ScriptState present_state() const { return read_state ? read_state() : state; }
  void replace_state(ScriptState saved);
  void end_row();
  void flush();
  void show();
  void commit();
  void resume(TaskLoop& loop);
  void loop_ended(TaskLoop& loop);

  std::string name_;
  std::int64_t seed_;
  at::Device device_;
  Key key_;
  Record record_;

  std::map<std::string, Logged> logged_;  // of the present step
  std::vector<Row> rows_;                 // not yet written
  std::int64_t epoch_ = 0, samples_ = 0;  // of the latest row
  bool to_show_ = false;                  // rows were written since the last progress line
  std::map<std::string, double> last_;    // of each name
  std::vector<FinishedLoop> finished_;
  std::shared_ptr<TaskLoop> loop_;  // the durable one under way
  std::size_t loops_ = 0;           // begun
  std::int64_t steps_before_ = 0;   // of finished loops
  std::optional<Checkpoint> from_;  // until the place where it was made is reached again
  bool complete_ = false;           // the function has returned
};

void register_task(Registry& registry);

}  // namespace trainlab
