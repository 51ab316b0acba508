#include "cli/ending.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "core/files.h"
#include "core/printable.h"
#include "report/page.h"
#include "report/texts.h"
#include "run/folder.h"
#include "run/shell_word.h"
#include "study/place.h"

namespace trainlab::cli {

namespace fs = std::filesystem;
using report::shown_path, report::summary_text;

namespace {

void complain(std::string_view text) {
  const std::string shown = printable(text);
  std::fwrite(shown.data(), 1, shown.size(), stderr);
}

Value failure(const Error& error, const fs::path& run) {
  Value value = Value::Map{{"status", "failed"},
                           {"error", Value::Map{{"file", error.file()},
                                                {"line", error.line()},
                                                {"path", error.path()},
                                                {"message", error.message()},
                                                {"hint", error.hint()}}}};
  if (!run.empty()) value.set("out", run.string());
  return value;
}

// The error as text. Its position, if there is one, stands first as FILE:LINE:, where editors find it.
std::string error_text(const Error& error) {
  return (error.file().empty() ? "trainlab: " : "") + std::string(error.what()) + "\n";
}

bool has_rows(const fs::path& run) {
  std::error_code ignored;
  return !run.empty() && fs::exists(run / "metrics.jsonl", ignored) && !fs::is_empty(run / "metrics.jsonl", ignored);
}

bool has_summary(const fs::path& run) {
  std::error_code ignored;
  return !run.empty() && fs::exists(run / "summary.json", ignored);
}

bool is_interrupted(const Outcome& outcome) {
  return outcome.code == 128 + SIGINT || outcome.code == 128 + SIGTERM || outcome.code == 128 + SIGHUP;
}

void write_out(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw run_error("cannot write to standard output");
}

}  // namespace

void print(std::string_view text) { write_out(printable(text)); }

void print_data(std::string_view text) {
  write_out(::isatty(STDOUT_FILENO) == 1 ? printable(text) : std::string(text));
}

void print_text(const std::string& text, bool json, const std::string& kind) {
  print(json ? to_json(Value::Map{{"kind", kind}, {"status", "done"}, {"text", text}}) + "\n" : text);
}

int tell(const Error& error, bool json, const fs::path& run) {
  complain(error_text(error));  // also with --json, because the object has no member for the traceback
  if (json) print(to_json(failure(error, run)) + "\n");
  return static_cast<int>(error.kind());
}

int supervise(const Request& request, const Arguments& arguments, std::optional<RunFolder> held) {
  const Outcome outcome = Supervisor(Supervisor::find_engine()).run(request, std::move(held));
  if (!outcome.folder.empty()) {
    remove_temporaries(outcome.folder);
    settle_studies(outcome.folder);
  }
  try {
    return tell(outcome, arguments.has("json"), arguments.has("help") ? "help" : arguments.command->name);
  } catch (const Error&) {
    // If the end of the terminal stopped the run, nothing can be written to this terminal.
    if (is_interrupted(outcome)) return outcome.code;
    throw;
  }
}

void settle_studies(const fs::path& run) {
  try {
    for (const StageRecord& stage : read_stages(run)) {
      const fs::path folder = run / stage.folder;
      if (fs::exists(folder / "study.db-wal")) StudyPlace::of_stage(folder).settle();
    }
  } catch (const std::exception&) {
    // An unreadable run is reported elsewhere.
  }
}

int tell_summary(const fs::path& run, Value summary, bool json) {
  // The present path, because the run may have been moved.
  const Value& name = summary["name"];
  const std::optional<std::string> stage = name.is_string() ? std::optional(name.string()) : std::nullopt;
  summary.set("out", find_stage(run, stage).folder);
  print(json ? to_json(summary, 2) + "\n" : summary_text(summary));
  return 0;
}

int tell(const Outcome& outcome, bool json, const std::string& kind) {
  // The advice to resume is left out if the error gives it already.
  const bool told = outcome.error && outcome.error->hint().find("trainlab resume ") != std::string::npos;
  const std::string go_on = outcome.folder.empty() || told
                                ? ""
                                : "to continue: trainlab resume " + shell_word(shown_path(outcome.folder)) + "\n";
  const bool interrupted = is_interrupted(outcome);

  if (outcome.error && !interrupted) {
    tell(*outcome.error, json, outcome.folder);
    if (outcome.code == 3 || outcome.may_go_on) {
      complain(go_on);
    } else if (outcome.code == 1 && !told && has_rows(outcome.folder)) {
      complain("everything saved until then is in " + shown_path(outcome.folder) + "\n");
    }
  } else if (outcome.result["object"].is_map()) {
    print(to_json(outcome.result["object"]) + "\n");
  } else if (outcome.result["text"].is_string()) {
    print_text(outcome.result["text"].string(), json, kind);
  } else if (has_summary(outcome.folder)) {
    tell_summary(outcome.folder, read_summary(outcome.folder), json);
    if (outcome.error) complain(error_text(*outcome.error));
    if (interrupted) complain(go_on);
    // The stage itself has decided that it failed, as for a loss that is not finite.
    if (outcome.code == 3) {
      complain("resumed, it would most likely fail again; how it went: trainlab report " + shown_path(outcome.folder) +
               "\n");
    }
  } else {
    if (json) print(to_json(Value::Map{{"kind", "none"}, {"status", interrupted ? "interrupted" : "done"}}) + "\n");
    if (outcome.error) complain(error_text(*outcome.error));
    if (interrupted) complain(go_on);
  }
  return outcome.code;
}

int tell_broken_off(const Outcome& outcome, const Arguments& given, const std::string& kind, const fs::path& folder) {
  const bool json = given.has("json");
  if (!is_interrupted(outcome)) {
    tell(outcome, json, kind);
  } else {
    if (json) print(to_json(Value::Map{{"kind", "none"}, {"status", "interrupted"}, {"out", folder.string()}}) + "\n");
    if (outcome.error) complain(error_text(*outcome.error));
  }
  say(given, "the runs that have ended lie in " + shown_path(folder) + "; the same command goes on");
  return outcome.code;
}

std::optional<std::string> page_failure(const Arguments& given, const std::function<std::string()>& page) {
  return given.has("html") ? report::page_failure(given.flags["html"].string(), page) : std::nullopt;
}

int end_with(const std::optional<std::string>& failure) {
  if (!failure) return 0;
  complain("trainlab: " + *failure + "\n");
  return static_cast<int>(ErrorKind::run);
}

void say(const Arguments& given, const std::string& line) {
  if (!given.has("quiet")) complain("trainlab: " + line + "\n");
}

void warn(const std::string& warning) { complain("trainlab: warning: " + warning + "\n"); }

}  // namespace trainlab::cli
