// Record: what a stage leaves in its folder while it runs, and finds there when it goes on: the rows of metrics.jsonl,
// checkpoints, the time that it took, and what its observers show. Fits and tasks keep one each.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"
#include "journal/checkpoint.h"
#include "journal/reporters.h"
#include "run/stage.h"

namespace trainlab {

// Seconds between automatic checkpoints of stages that say nothing else.
inline constexpr double default_checkpoint_seconds = 10;

// One thing that survives a resume. The key `name` of a checkpoint holds what state() gives, unless that is nullopt;
// tensors() gives names as they stand in the checkpoint's file.
struct Resumable {
  std::string name;
  std::function<std::optional<Value>()> state = {};
  std::function<NamedTensors()> tensors = {};
  // Gets the value of the key, nil where there is none, and all tensors of the checkpoint. Without it the checkpoint
  // tells the thing to its readers only.
  std::function<void(const Value& state, const NamedTensors& tensors)> restore = {};
};

// Not thread-safe.
class Record {
 public:
  // Without a folder (an empty path) nothing is kept and nobody is told.
  explicit Record(const StageContext& stage);

  bool is_kept() const { return checkpoints_.has_value(); }
  const std::filesystem::path& folder() const { return stage_.folder; }
  CheckpointFolder& checkpoints() { return *checkpoints_; }
  // The observers that every stage has (see stage_observers), and then the observers given from outside.
  void watch(ProgressStyle style, std::function<double()> mean_loss,
             const std::vector<std::shared_ptr<Observer>>& given = {});
  const std::vector<std::shared_ptr<Observer>>& observers() const { return observers_; }
  // The parts that survive a resume, in the order in which they are restored.
  void add(Resumable one) { parts_.push_back(std::move(one)); }

  // The newest checkpoint. Where there is none the rows of a lost start are cut to nothing, and a line says that this
  // starts again `from` ("the first step").
  std::optional<Checkpoint> newest(std::string_view from);
  // Gives each part back what the checkpoint holds, cuts the rows to those that it counts, and goes on counting time.
  // An error of a part names the part.
  void resume(const Checkpoint& checkpoint);
  // Opens metrics.jsonl and begins to count time.
  void begin();

  // Appends whole lines of metrics.jsonl.
  void append(const std::string& rows);
  void sync();
  // Fills in what the parts give and commits, after the rows that the checkpoint counts are on the disk.
  void commit(Checkpoint checkpoint);

  // Since the beginning, in all processes.
  double seconds() const;
  // Since the latest checkpoint of this process, or since begin().
  double seconds_since_commit() const;
  // Steps from which the stage was continued.
  Value resumed() const { return Value::List(resumed_.begin(), resumed_.end()); }

 private:
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
