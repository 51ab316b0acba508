#include "run/snapshot.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <system_error>

#include "core/error.h"
#include "core/files.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t longest_request = 4096;  // bytes
constexpr double least_seconds = 0.01, most_seconds = 86'400;

bool is_id(const std::string& text) {
  return !text.empty() && text.size() <= 64 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0; });
}

std::optional<SnapshotRequest> request_from(const Value& value) {
  if (!value["id"].is_string() || !is_id(value["id"].string()) || !value["seconds"].is_number()) return std::nullopt;
  return SnapshotRequest{.id = value["id"].string(),
                         .seconds = std::clamp(value["seconds"].number(), least_seconds, most_seconds),
                         .has_trace = value["trace"] == Value(true)};
}

}  // namespace

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

void ask_for_snapshot(const fs::path& stage, const SnapshotRequest& request) {
  if (snapshot_request(stage)) {
    throw run_error("--attach: another process measures this run at present").hint("try again in a moment");
  }
  const Value value = Value::Map{{"id", request.id}, {"seconds", request.seconds}, {"trace", request.has_trace}};
  write_atomic(snapshot_request_path(stage), to_json(value) + "\n");
}

std::optional<SnapshotRequest> snapshot_request(const fs::path& stage) {
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

void remove_request(const fs::path& stage, const std::string& id) {
  if (const auto present = snapshot_request(stage); present && present->id == id)
    remove_file(snapshot_request_path(stage));
}

}  // namespace

// The request goes first: while it is there, a process that finds it not taken takes it.
void withdraw_snapshot_request(const fs::path& stage, const std::string& id) noexcept {
  try {
    remove_request(stage, id);
    remove_file(snapshot_answer_path(stage, id));
    remove_file(snapshot_trace_path(stage, id));
  } catch (const std::exception&) {
    // A file that stays behind harms nobody: the next request has another id.
  }
  give_back_snapshot_request(stage, id);
}

void answer_snapshot(const fs::path& stage, const std::string& id, const Value& answer) {
  write_atomic(snapshot_answer_path(stage, id), to_json(answer) + "\n");
  remove_request(stage, id);
  give_back_snapshot_request(stage, id);
}

}  // namespace trainlab
