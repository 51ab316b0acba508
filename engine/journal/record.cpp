#include "journal/record.h"

#include <algorithm>
#include <stdexcept>

#include "core/clock.h"
#include "core/trace.h"
#include "tensor/types.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

std::logic_error second(const std::string& name) {
  return std::logic_error("two parts of a checkpoint are named " + name);
}

}  // namespace

Record::Record(const StageContext& stage) : stage_(stage) {
  if (!stage.folder.empty()) checkpoints_.emplace(stage.folder / "checkpoints", stage.say_damage);
  add({.name = "seconds",
       .state = [this] { return Value(seconds()); },
       .restore = [this](const Value& state, const NamedTensors&) { seconds_before_ = state.number(); }});
  add({.name = "resumed",
       .state = [this] { return resumed(); },
       .restore =
           [this](const Value& state, const NamedTensors&) {
             for (const Value& step : state.list()) resumed_.push_back(step.integer());
           }});
  add({.name = "metrics_bytes", .state = [this] { return Value(rows_->size()); }});
}

void Record::add(Resumable one) {
  if (std::ranges::find(parts_, one.name, &Resumable::name) != parts_.end()) throw second(one.name);
  parts_.push_back(std::move(one));
}

void Record::watch(ProgressStyle style, std::function<double()> mean_loss,
                   const std::vector<std::shared_ptr<Observer>>& given) {
  if (is_kept()) observers_ = stage_observers(stage_, style, std::move(mean_loss));
  observers_.insert(observers_.end(), given.begin(), given.end());
}

std::optional<Checkpoint> Record::newest(std::string_view from) {
  std::optional<Checkpoint> found = checkpoints_->newest();
  if (found || !fs::exists(rows_path())) return found;
  stage_.say_damage("there is no checkpoint: this starts again from " + std::string(from));
  truncate_file(rows_path(), 0);
  return found;
}

void Record::resume(const Checkpoint& checkpoint) {
  const auto restore = [&](const std::string& part, const auto& work) {
    const auto failed = [&](const std::string& what) {
      return misfit("the checkpoint of step " + std::to_string(checkpoint.step) + " has " + what,
                    "continue with the engine that wrote the checkpoint, or begin a new run");
    };
    try {
      with_torch_errors(work);
    } catch (const std::logic_error&) {  // of Value
      throw failed("another kind of " + part + " than this engine writes");
    } catch (const Error& error) {
      // A resource that has run out or gone away (memory, a device) is no fault of the checkpoint.
      if (error.kind() != ErrorKind::recipe) throw;
      throw failed(part + " that this engine cannot restore: " + error.headline());
    }
  };
  for (const Resumable& part : parts_) {
    if (part.restore) restore(part.name, [&] { part.restore(checkpoint.info[part.name], checkpoint.tensors); });
  }
  // Last, so that the rows stay as they are where a part cannot be restored.
  restore("metrics_bytes", [&] { cut_rows(checkpoint.step, checkpoint.info["metrics_bytes"].integer()); });
  resumed_.push_back(checkpoint.step);
}

// The rows are for readers, not for training, so that a stage goes on where some of them are lost.
void Record::cut_rows(std::int64_t step, std::int64_t bytes) const {
  const auto there = fs::exists(rows_path()) ? static_cast<std::int64_t>(fs::file_size(rows_path())) : 0;
  if (there >= bytes) {
    // A row to which values were added since is longer than the checkpoint knows.
    const std::string rows = bytes > 0 && there > bytes ? read_file(rows_path()) : "";
    const std::size_t end = rows.empty() ? std::string::npos : rows.find('\n', static_cast<std::size_t>(bytes) - 1);
    return truncate_file(rows_path(), end == std::string::npos ? bytes : static_cast<std::int64_t>(end) + 1);
  }
  stage_.say_damage("damage: " + rows_path().string() + " has lost rows from before step " + std::to_string(step) +
                    ": reports of this stage will lack them");
  if (there == 0) return;
  truncate_file(rows_path(), static_cast<std::int64_t>(read_file(rows_path()).rfind('\n') + 1));
}

Error Record::misfit(const std::string& what, const std::string& hint) const {
  if (stage_.clone_of.empty()) return usage_error(what).hint(hint);
  // A trial that has failed shows its reason without a hint.
  return recipe_error("this trial's parameters do not fit the checkpoint of " + stage_.clone_of +
                      ", with which it begins: " + what +
                      "; a clone cannot have parameters that change the model, the optimizer or the data");
}

void Record::begin(double least_seconds) {
  seconds_before_ = std::max(seconds_before_, least_seconds);
  started_ = last_commit_ = steady_seconds();
  if (is_kept()) rows_ = std::make_unique<AppendFile>(rows_path());
}

void Record::append(const std::string& rows) {
  if (rows_) rows_->append(rows);
}

void Record::amend(const Value& values) {
  if (!rows_) return;
  std::string rows = read_file(rows_path());
  if (rows.size() < 2) return;
  const std::size_t begin = rows.rfind('\n', rows.size() - 2) + 1;
  Value row;
  try {
    row = parse_json(rows.substr(begin), rows_path().string());
    for (const auto& [name, value] : values.map()) row.set(name, value);
  } catch (const std::exception&) {  // not JSON, or no object
    return stage_.say("damage: the last row of " + rows_path().string() +
                      " cannot be read, and does not get the values that were logged at the end");
  }
  std::string text = to_json(row);
  // Never shorter than it was: the length of the rows tells a resume which of them to keep.
  text.resize(std::max(text.size(), rows.size() - begin - 1), ' ');
  rows.resize(begin);
  rows += text + "\n";
  write_atomic(rows_path(), rows);
}

void Record::sync() {
  if (rows_) rows_->sync();
}

void Record::gather(Checkpoint& checkpoint) const {
  for (const Resumable& part : parts_) {
    if (part.state) {
      if (!checkpoint.info[part.name].is_nil()) throw second(part.name);
      if (std::optional<Value> state = part.state()) checkpoint.info.set(part.name, std::move(*state));
    }
    if (part.tensors) {
      NamedTensors tensors = part.tensors();
      checkpoint.tensors.merge(tensors);
      if (!tensors.empty()) throw second(tensors.begin()->first);
    }
  }
}

void Record::write(const Checkpoint& checkpoint) {
  rows_->sync();
  checkpoints_->commit(checkpoint);
  last_commit_ = steady_seconds();
}

bool Record::commit(Checkpoint checkpoint) {
  if (!is_kept()) return false;
  const Span span(Phase::commit);
  gather(checkpoint);
  write(checkpoint);
  return true;
}

double Record::seconds_since_commit() const { return steady_seconds() - last_commit_; }

double Record::seconds() const {
  return started_ == 0 ? seconds_before_ : seconds_before_ + steady_seconds() - started_;
}

}  // namespace trainlab
