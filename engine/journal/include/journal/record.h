// Record: what a stage writes into its folder while it runs, and reads there when it is continued: the rows of
// metrics.jsonl, checkpoints, the training time, and the output of observers. Each fit and each task has a record.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "journal/checkpoint.h"
#include "journal/reporters.h"
#include "run/stage.h"

namespace trainlab {

// One part of a stage that survives a resume. A checkpoint holds the result of state() under the key `name`, unless it
// is nullopt, and the tensors of tensors() under their names. Messages name the part too. No two parts of a stage share
// a name or a tensor's name.
struct Resumable {
  std::string name;
  std::function<std::optional<Value>()> state = {};
  std::function<NamedTensors()> tensors = {};
  // Receives the value of the key, nil if there is none, and all tensors of the checkpoint. A part without this
  // function is only written, for readers of the checkpoint.
  std::function<void(const Value& state, const NamedTensors& tensors)> restore = {};
};

// Not thread-safe.
class Record {
 public:
  // Without a folder (an empty path) nothing is written, and only observers given from outside are called.
  explicit Record(const StageContext& stage);

  bool is_kept() const { return checkpoints_.has_value(); }
  const std::filesystem::path& folder() const { return stage_.folder; }
  CheckpointFolder& checkpoints() { return *checkpoints_; }
  // The observers that every stage has (see stage_observers), and then the observers given from outside.
  void watch(ProgressStyle style, std::function<double()> mean_loss,
             const std::vector<std::shared_ptr<Observer>>& given = {});
  const std::vector<std::shared_ptr<Observer>>& observers() const { return observers_; }
  // The parts that survive a resume, in the order in which they are restored. std::logic_error for a second part of a
  // name.
  void add(Resumable one);

  // The newest checkpoint. If there is none, but an earlier attempt has begun, its rows are removed, and a line, which
  // no quiet run hides, says that the stage starts again from `from` ("the first step").
  std::optional<Checkpoint> newest(std::string_view from);
  // Restores each part from the checkpoint, cuts the rows to the number in the checkpoint, and continues to count time.
  // Raises misfit() that names the part where a part cannot be restored from what the checkpoint has.
  void resume(const Checkpoint& checkpoint);
  // The error of a stage that cannot go on from its checkpoint: Error{usage} with this hint. Of a clone Error{recipe},
  // because the clone's parameters are to blame.
  Error misfit(const std::string& what, const std::string& hint) const;
  // Opens metrics.jsonl and starts to count time. `least_seconds`: of training that is known to lie behind, also where
  // the checkpoint with which the stage goes on is older.
  void begin(double least_seconds = 0);

  // Appends whole lines of metrics.jsonl.
  void append(const std::string& rows);
  void sync();
  // Adds values to the last row, after which no row may be appended. A row that is damaged stays as it is.
  void amend(const Value& values);
  // Adds the state of the parts to the checkpoint. std::logic_error if a part uses a name that the checkpoint has.
  void gather(Checkpoint& checkpoint) const;
  // Commits a checkpoint that is gathered, after the rows that it counts are on the disk. On any thread, while nobody
  // else uses the record; there is a folder.
  void write(const Checkpoint& checkpoint);
  // gather() and write(). False without a folder, where nothing is written.
  bool commit(Checkpoint checkpoint);

  // Seconds since the beginning, in all processes.
  double seconds() const;
  // Seconds since the latest checkpoint of this process, or since begin().
  double seconds_since_commit() const;
  // Steps from which the stage was continued.
  Value resumed() const { return Value::List(resumed_.begin(), resumed_.end()); }

 private:
  void cut_rows(std::int64_t step, std::int64_t bytes) const;
  std::filesystem::path rows_path() const { return stage_.folder / "metrics.jsonl"; }

  StageContext stage_;
  std::optional<CheckpointFolder> checkpoints_;
  std::unique_ptr<AppendFile> rows_;
  std::vector<std::shared_ptr<Observer>> observers_;
  std::vector<Resumable> parts_;
  std::vector<std::int64_t> resumed_;
  double seconds_before_ = 0, started_ = 0, last_commit_ = 0;
};

}  // namespace trainlab
