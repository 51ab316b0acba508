#include "attach.h"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "cli/arguments.h"
#include "cli/ending.h"
#include "cli/requests.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "core/trace_file.h"
#include "report/texts.h"
#include "run/folder.h"
#include "run/shell_word.h"
#include "run/snapshot.h"

namespace trainlab::cli {

namespace fs = std::filesystem;
using report::shown_path;

namespace {

constexpr double usual_seconds = 5;
constexpr double patience = 5;  // seconds beyond those of the request after which the wait is told

// The error of a run that no process trains. One without a summary was killed before it could write one. One that was
// interrupted or has failed may have gone on since, and been killed.
Error not_training(const std::string& shown, const Value& summary) {
  const std::string run = "--attach: the run in " + shown;
  if (is_finished(summary)) return usage_error(run + " has ended, with status " + summary["status"].string());
  const std::string before =
      summary.is_nil() ? " was killed, and" : " was left with status " + summary["status"].string() + ", and";
  return usage_error(run + before + " no process trains it now")
      .hint("to continue: trainlab resume " + shell_word(shown));
}

// The stage that the run trains now, with its absolute folder.
StageRecord training_stage(const fs::path& run) {
  const std::string shown = shown_path(run);
  if (!holder(run)) throw not_training(shown, read_summary(run));
  const std::vector<StageRecord> stages = read_stages(run);
  const fs::path folder = stages.empty() ? run : stage_path(run, stages.back().folder);
  if (stages.empty() || is_finished(read_summary(folder)))
    throw usage_error("--attach: the run in " + shown + " is between two stages").hint("try again in a moment");
  const StageRecord& stage = stages.back();
  constexpr std::array<std::string_view, 4> answering{"fit", "task", "sweep", "ensemble"};
  if (std::ranges::find(answering, stage.kind) != answering.end())
    return {.name = stage.name, .kind = stage.kind, .folder = folder.string()};
  throw usage_error("--attach: expected a run that trains a fit, a task, a sweep or an ensemble, found the " +
                    stage.kind + " \"" + stage.name + "\" in " + shown)
      .hint("`trainlab profile` on its recipe measures the fit that it searches for");
}

// Where an answer comes from, for a user who waits in vain.
std::string what_answers(const StageRecord& stage) {
  if (stage.kind == "fit") return "a fit answers at the end of a step";
  if (stage.kind == "task") return "a task answers in its loops over ctx:batches and ctx:steps, and nowhere else";
  return "a trial answers at the end of a step; between trials, and while their results are put together, nothing does";
}

// Signals that end the program wait while the object lives, so that the request can be taken back first. SIGPIPE is the
// signal of a reader of the output that has gone.
class HeldSignals {
 public:
  HeldSignals() {
    sigemptyset(&held_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) sigaddset(&held_, signal);
    sigprocmask(SIG_BLOCK, &held_, &before_);
  }
  ~HeldSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;

  // Waits for a signal, which it returns, but no longer than a moment: 0.
  int wait() const {
    constexpr timespec moment{.tv_sec = 0, .tv_nsec = 20'000'000};
    return std::max(::sigtimedwait(&held_, nullptr, &moment), 0);
  }

 private:
  sigset_t held_{}, before_{};
};

// A request, which is taken back with what was answered to it.
class Asking {
 public:
  Asking(fs::path stage, SnapshotRequest request) : stage_(std::move(stage)), request_(std::move(request)) {
    try {
      ask_for_snapshot(stage_, request_);
    } catch (Error& error) {
      if (error.kind() == ErrorKind::usage)
        error.hint("only who may write into the run's folder can attach to the run");
      throw;
    }
  }
  ~Asking() { withdraw_snapshot_request(stage_, request_.id); }
  Asking(const Asking&) = delete;

  // Whether the request is there: it goes with the answer, and where there can be none.
  bool is_there() const {
    const std::optional<SnapshotRequest> present = snapshot_request(stage_);
    return present && present->id == request_.id;
  }
  fs::path answer_path() const { return snapshot_answer_path(stage_, request_.id); }
  fs::path trace_path() const { return snapshot_trace_path(stage_, request_.id); }

 private:
  fs::path stage_;
  SnapshotRequest request_;
};

// The answer; nullopt after a signal, which `signal` then has.
std::optional<Value> await_answer(const Asking& asking, const fs::path& run, const StageRecord& stage, double seconds,
                                  const Arguments& given, const HeldSignals& signals, int& signal) {
  const double longest = longest_wait(seconds), begun = steady_seconds();
  bool is_told = false;
  while (true) {
    // Asked before the answer, which may be the stage's last words.
    const bool trains = holder(run) && !is_finished(read_summary(stage.folder)), is_asked = asking.is_there();
    if (Value answer = read_json(asking.answer_path()); !answer.is_nil()) return answer;
    if (!is_there(stage.folder, stage.folder))
      throw run_error("--attach: the folder " + shown_path(stage.folder) + " is gone: it was removed or renamed");
    if (!trains) {
      throw run_error("--attach: the " + stage.kind + " \"" + stage.name + "\" has ended before it answered");
    }
    if (!is_asked) {
      throw run_error("--attach: the process that trains cannot write its answer into " + shown_path(stage.folder))
          .hint("look whether the disk is full, and whether that process may write into the folder");
    }
    const double waited = steady_seconds() - begun;
    if (waited > longest) {
      throw run_error("--attach: the run in " + shown_path(run) + " has not answered for " +
                      std::to_string(static_cast<int>(longest)) + " s")
          .hint(
              what_answers(stage) +
              ", and a process that is paused only when it goes on; --seconds N waits for 60 s and ten times N; a run "
              "of an earlier version of trainlab may not answer");
    }
    if (!is_told && waited > 2 * seconds + patience) {
      is_told = true;
      say(given, "the " + stage.kind + " \"" + stage.name + "\" has not answered yet: " + what_answers(stage) +
                     "; waiting for at most " + std::to_string(static_cast<int>(longest)) + " s");
    }
    signal = signals.wait();
    if (signal != 0) return std::nullopt;
  }
}

void take_trace(const fs::path& from, const fs::path& to) {
  std::error_code failed;
  if (!fs::exists(from, failed)) {
    throw run_error(
        "the training ended before steps were recorded; another training of the run may be longer: ask again");
  }
  fs::rename(from, to, failed);
  if (failed) write_atomic(to, read_file(from));  // on another disk
}

void check_attach(const Arguments& given) {
  if (!given.has("attach")) return;
  constexpr std::array<std::string_view, 5> meant{"attach", "seconds", "trace", "json", "quiet"};
  for (const auto& [name, value] : given.flags.map()) {
    if (std::ranges::find(meant, name) != meant.end()) continue;
    throw usage_error("--" + name + " means nothing to `trainlab profile --attach`")
        .hint("a run that trains is measured as it is: --seconds, --trace and --json");
  }
}

int attach(const Arguments& given) {
  const fs::path run = find_run(given.flags["attach"].string());
  const fs::path trace = given.has("trace") ? absolute_path(given.flags["trace"].string()) : fs::path();
  if (!trace.empty()) check_trace(trace);
  const StageRecord stage = training_stage(run);
  const double seconds = given.has("seconds") ? given.flags["seconds"].number() : usual_seconds;

  const HeldSignals signals;
  const std::string id = hash_bytes(this_process() + " " + std::to_string(wall_seconds())).substr(0, 16);
  const Asking asking(stage.folder, {.id = id, .seconds = seconds, .has_trace = !trace.empty()});
  int signal = 0;
  const std::optional<Value> answer = await_answer(asking, run, stage, seconds, given, signals, signal);
  if (!answer) {
    say(given, "asked to stop before the run has answered; the run goes on");
    return tell(Outcome{.code = 128 + signal}, given.has("json"), "profile");
  }
  if ((*answer)["error"].is_string()) throw run_error("--attach: " + (*answer)["error"].string());
  const std::optional<std::string> failure =
      trace.empty() ? std::nullopt : output_failure("--trace", [&] { take_trace(asking.trace_path(), trace); });
  if (given.has("json")) {
    Value value = (*answer)["value"];
    value.set("run", run.string());
    print(to_json(value) + "\n");
  } else {
    print((*answer)["text"].string());
  }
  return end_with(failure);
}

}  // namespace

void let_attach(Command& profile) {
  profile.flags.push_back({.name = "attach",
                           .type = folder_type("RUN"),
                           .help = "instead of a recipe: the next steps that the run RUN trains now, in another\n"
                                   "process, for at most --seconds (default " +
                                   std::to_string(static_cast<int>(usual_seconds)) + "); the run goes on undisturbed"});
  profile.instead = "attach";
  profile.check = check_attach;
  profile.run = [](const Program&, const Arguments& given) {
    return given.has("attach") ? attach(given) : supervise(request_for_recipe(given), given);
  };
}

}  // namespace trainlab::cli
