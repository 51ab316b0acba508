#include "run/snapshot.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/host.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t longest_request = 4096;  // bytes
constexpr double longest_asking = 10;           // seconds that writing a request may take
constexpr double least_seconds = 0.01, most_seconds = 86'400;

bool is_id(const std::string& text) {
  return !text.empty() && text.size() <= 64 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0; });
}

// The request with the process that asks.
struct StoredRequest {
  SnapshotRequest request;
  std::string asker = {};
};

std::optional<StoredRequest> request_from(const Value& value) {
  if (!value["id"].is_string() || !is_id(value["id"].string()) || !value["seconds"].is_number()) return std::nullopt;
  return StoredRequest{.request = {.id = value["id"].string(),
                                   .seconds = std::clamp(value["seconds"].number(), least_seconds, most_seconds),
                                   .has_trace = value["trace"] == Value(true)},
                       .asker = value["asker"].is_string() ? value["asker"].string() : ""};
}

}  // namespace

double longest_wait(double seconds_of_request) { return 60 + 10 * seconds_of_request; }

fs::path snapshot_request_path(const fs::path& stage) { return stage / "snapshot.request"; }

fs::path snapshot_answer_path(const fs::path& stage, const std::string& id) {
  return stage / ("snapshot-" + id + ".json");
}

fs::path snapshot_trace_path(const fs::path& stage, const std::string& id) {
  return stage / ("snapshot-" + id + ".trace");
}

namespace {

// Made by the process that answers, which must be one alone: only one process can make a folder.
fs::path taken_path(const fs::path& stage, const std::string& id) { return stage / ("snapshot-" + id + ".taken"); }

}  // namespace

namespace {

// The seconds since a file or a folder was written; negative where there is none.
double age(const fs::path& path) {
  std::error_code failed;
  const fs::file_time_type written = fs::last_write_time(path, failed);
  if (failed) return -1;
  return std::chrono::duration<double>(fs::file_time_type::clock::now() - written).count();
}

Error is_measured_already() {
  return run_error("--attach: another process measures this run at present").hint("try again in a moment");
}

// While an object lives, its process alone writes a request or removes one.
class Alone {
 public:
  // Raises Error{run} where another process has been doing so for `patience` seconds.
  Alone(const fs::path& stage, double patience) : path_(stage / "snapshot.asking") {
    const double begun = steady_seconds();
    while (!is_made()) {
      if (steady_seconds() - begun >= patience) throw is_measured_already();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  ~Alone() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  Alone(const Alone&) = delete;

 private:
  bool is_made() const {
    std::error_code ignored;
    if (age(path_) > longest_asking) fs::remove(path_, ignored);  // a process was killed while it asked
    // Where nothing can be made, the request cannot be written either, and then says why.
    return file_calls().make_directory(path_) == 0 || errno != EEXIST;
  }

  const fs::path path_;
};

}  // namespace

namespace {

// Removes what was left behind of earlier requests, because a process was killed while it waited or answered. A process
// that waits fetches its answer in less than a second.
void remove_left_behind(const fs::path& stage) {
  std::error_code ignored;
  for (fs::directory_iterator entry(stage, ignored), end; entry != end; entry.increment(ignored)) {
    const fs::path& path = entry->path();
    const std::string name = path.stem().string(), begin = "snapshot-";
    if (name.starts_with(begin) && is_id(name.substr(begin.size())) && age(path) > longest_wait(0))
      fs::remove(path, ignored);
  }
}

}  // namespace

void ask_for_snapshot(const fs::path& stage, const SnapshotRequest& request) {
  const Alone alone(stage, 0);
  const std::optional<SnapshotRequest> other = snapshot_request(stage);
  if (other && age(snapshot_request_path(stage)) <= longest_wait(other->seconds)) throw is_measured_already();
  const Value value = Value::Map{
      {"id", request.id}, {"seconds", request.seconds}, {"trace", request.has_trace}, {"asker", this_process()}};
  remove_left_behind(stage);
  write_atomic(snapshot_request_path(stage), to_json(value) + "\n");
}

namespace {

// The request in the stage's folder, also that of a process which is there no more.
std::optional<StoredRequest> stored_request(const fs::path& stage) {
  const fs::path path = snapshot_request_path(stage);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  const std::string text = read_file(path, longest_request);
  try {
    return request_from(parse_json(text, path.string()));
  } catch (const Error&) {
    return std::nullopt;  // the file is not of trainlab
  }
}

}  // namespace

std::optional<SnapshotRequest> snapshot_request(const fs::path& stage) {
  const std::optional<StoredRequest> stored = stored_request(stage);
  return stored && !has_died(stored->asker) ? std::optional(stored->request) : std::nullopt;
}

bool take_snapshot_request(const fs::path& stage, const std::string& id) {
  const fs::path path = taken_path(stage, id);
  if (file_calls().make_directory(path) == 0) return true;
  if (errno == EEXIST) return false;
  throw run_error("cannot make " + path.string() + ": " + std::generic_category().message(errno));
}

void give_back_snapshot_request(const fs::path& stage, const std::string& id) noexcept {
  std::error_code ignored;  // an empty folder that stays behind harms nobody: the next request has another id
  fs::remove(taken_path(stage, id), ignored);
}

namespace {

// Returns whether the process that asked waits for its answer: its request was there, and so is the process. Another
// process may replace the request of one that is there no more: not between the look and the removal.
bool remove_request(const fs::path& stage, const std::string& id) {
  const Alone alone(stage, longest_asking + 1);
  const auto present = stored_request(stage);
  if (!present || present->request.id != id) return false;
  remove_file(snapshot_request_path(stage));
  return !has_died(present->asker);
}

void remove_answer(const fs::path& stage, const std::string& id) {
  remove_file(snapshot_answer_path(stage, id));
  remove_file(snapshot_trace_path(stage, id));
}

}  // namespace

// The request goes first: while it is there, a process that finds it not taken takes it.
void withdraw_snapshot_request(const fs::path& stage, const std::string& id) noexcept {
  try {
    remove_request(stage, id);
    remove_answer(stage, id);
  } catch (const std::exception&) {
    // A file that stays behind harms nobody: the next request has another id.
  }
  give_back_snapshot_request(stage, id);
}

void answer_snapshot(const fs::path& stage, const std::string& id, const Value& answer) {
  write_atomic(snapshot_answer_path(stage, id), to_json(answer) + "\n");
  if (!remove_request(stage, id)) remove_answer(stage, id);
  give_back_snapshot_request(stage, id);
}

}  // namespace trainlab
