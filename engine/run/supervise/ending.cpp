#include "ending.h"

#include <cstring>

#include "core/files.h"
#include "run/manifest.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

std::string signal_text(int signal) {
  const char* name = ::sigabbrev_np(signal);
  const std::string known = name ? "SIG" + std::string(name) : "signal " + std::to_string(signal);
  return known + " (" + ::strsignal(signal) + ")";
}

int stop_code(const Ending& ending) {
  // An engine that stopped without the supervisor's doing had a SIGTERM sent to itself.
  const bool keyboard = !ending.stop_signals.empty() && ending.stop_signals.front() == SIGINT;
  return keyboard ? 130 : 143;
}

// The error that the supervisor reports because the engine could not. nullopt: the engine has reported how it ended.
std::optional<Error> own_words(const Ending& ending) {
  if (ending.broken) return ending.broken;
  if (ending.silent) return ending.silent;
  const int status = ending.status.si_status;
  if (ending.status.si_code == CLD_EXITED) {
    if (ending.error) return std::nullopt;
    if (!ending.result.is_nil() && (status <= 3 || status == 130)) return std::nullopt;
    if (status == 130) return Error(ErrorKind::interrupted, "interrupted");
    if (status == 0) return run_error("the engine ended without a result");
    // Codes of the system's loader, which has said why, for a library that is missing and for one of another version.
    // An engine that has begun gives a reason with each 1.
    constexpr int not_found = 127, not_matching = 1;
    if (status == not_found || status == not_matching) {
      return usage_error("the engine cannot be loaded (the system says why above)")
          .hint("a library is missing or of another version: install again");
    }
    return run_error("the engine ended with exit code " + std::to_string(status) + " and gave no reason");
  }
  if (ending.is_late) {
    return Error(ErrorKind::interrupted,
                 ending.folder.empty()
                     ? "stopped before anything was saved: what was under way took longer than --grace"
                     : "stopped without a checkpoint: the step, callback or file under way took longer than --grace");
  }
  if (ending.stop_signals.size() >= 2) {
    return Error(ErrorKind::interrupted, "stopped at once by a second signal, without a checkpoint");
  }
  if (ending.stop_signals.size() == 1 && status == SIGTERM) {
    return Error(ErrorKind::interrupted, "interrupted before the recipe began");
  }
  if (ending.error) return std::nullopt;  // it crashed on its way out
  if (status == SIGTERM) return run_error("the engine was ended from outside by " + signal_text(status));
  const std::string where = ending.note.operation.empty() ? "" : " in " + ending.note.operation;
  Error error = run_error(status == SIGKILL ? "the engine was killed from outside (SIGKILL)" + where +
                                                  ", often by the system when memory runs out"
                                            : "the engine crashed" + where + ": " + signal_text(status));
  if (!where.empty() && ending.note.line > 0) error.at(ending.note.file, ending.note.line);
  return error;
}

// Writes how the run ended into the summaries of the stage that was under way and of the top.
void record(const fs::path& run, const Error& error) {
  const std::vector<StageRecord> stages = read_stages(run);
  if (stages.empty()) return;
  const StageRecord& last = stages.back();
  const fs::path folder = stage_path(run, last.folder);
  const Value before = read_summary(folder);
  const bool same = before["name"] == Value(last.name);
  const bool finished = same && is_finished(before);
  if (finished && last.folder == ".") return;

  Value summary = Value::Map{
      {"name", last.name},
      {"kind", last.kind},
      {"status", error.kind() == ErrorKind::interrupted ? "interrupted" : "failed"},
      {"reason", error.headline()},
      {"out", folder.string()},
      {"seconds", same ? before["seconds"] : Value()},
      {"resumed", same && before["resumed"].is_list() ? before["resumed"] : Value(Value::List{})},
  };
  if (same) keep_for_going_on(summary, before);
  const std::string text = to_json(summary, 2) + "\n";
  if (!finished) write_atomic(folder / "summary.json", text);
  if (last.folder != ".") write_atomic(run / "summary.json", text);
}

}  // namespace

Outcome outcome(const Ending& ending) {
  Outcome outcome;
  outcome.result = ending.result;
  outcome.error = ending.error;
  outcome.is_out_of_time = ending.is_out_of_time;
  std::error_code ignored;
  if (!ending.folder.empty() && fs::exists(manifest_path(ending.folder), ignored)) outcome.folder = ending.folder;

  if (std::optional<Error> words = own_words(ending)) {
    outcome.may_go_on = !outcome.folder.empty();
    if (outcome.may_go_on) {
      try {
        record(outcome.folder, *words);
      } catch (const std::exception&) {
        // A full disk, perhaps: the words reach the user all the same.
      }
    }
    outcome.error = std::move(words);
    outcome.result = {};
  }

  if (outcome.error) {
    outcome.code = static_cast<int>(outcome.error->kind());
  } else {
    outcome.code = ending.status.si_status;
  }
  if (outcome.code == 130) outcome.code = stop_code(ending);
  return outcome;
}

}  // namespace trainlab
