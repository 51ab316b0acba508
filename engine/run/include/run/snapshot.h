// Snapshots: how `trainlab profile --attach` asks a stage that trains now, in another process, for a profile of its
// next steps. Request and answer are files in the folder of the stage, so that nothing in the run waits for the process
// that asks, and nothing is left to do where that process has gone.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/value.h"

namespace trainlab {

struct SnapshotRequest {
  std::string id;          // of the process that asks: letters and digits, which no other process has
  double seconds = 5;      // of the steps to measure, and once more of those to trace
  bool has_trace = false;  // whether a trace is wanted too
};

// The files of the request, of its answer, and of a trace.
std::filesystem::path snapshot_request_path(const std::filesystem::path& stage);
std::filesystem::path snapshot_answer_path(const std::filesystem::path& stage, const std::string& id);
std::filesystem::path snapshot_trace_path(const std::filesystem::path& stage, const std::string& id);

// The longest time for which the process that asks waits for its answer.
double longest_wait(double seconds_of_request);

// For the process that asks: writes the request. Raises Error{run} where another one asks or waits for its answer, and
// as write_atomic does. Of two that ask at once only one gets through. A request that a killed process has left behind
// is replaced: at once where this machine knows that process, else when the request is older than the longest wait.
// Answers that killed processes have left behind are removed.
void ask_for_snapshot(const std::filesystem::path& stage, const SnapshotRequest& request);
// Removes the request, unless another process has asked since then, with its answer and trace. For a process that
// trains and cannot write its answer too: a request that is gone without an answer gets none. Waits some seconds at
// most, where a process was killed while it asked.
void withdraw_snapshot_request(const std::filesystem::path& stage, const std::string& id) noexcept;

// For the process that trains: the request, which stays; nullopt where there is none, where the file is no request, and
// where the process that asked is known to be there no more.
// Raises Error where the file cannot be read.
std::optional<SnapshotRequest> snapshot_request(const std::filesystem::path& stage);
// True for the one process of those that work on the stage which answers this request. Raises Error{run}.
bool take_snapshot_request(const std::filesystem::path& stage, const std::string& id);
// Lets another training of the stage answer a request that was taken.
void give_back_snapshot_request(const std::filesystem::path& stage, const std::string& id) noexcept;
// Writes the answer, `value` and `text` of the snapshot or `error`, the reason why there is none, and removes the
// request. No answer stays where the request was taken back meanwhile. Raises Error as write_atomic does.
void answer_snapshot(const std::filesystem::path& stage, const std::string& id, const Value& answer);

}  // namespace trainlab
