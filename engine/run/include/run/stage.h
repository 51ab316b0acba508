// Stages: the units of durable work. A stage kind (fit, task, sweep, ensemble) is one registry entry of kind
// "stage" whose implementation is a StageKind; everything about folders, order, resuming and results is done once,
// here and in run.h, for all kinds.
#pragma once

#include <any>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/registry.h"
#include "core/training_wave.h"
#include "run/new_total.h"

namespace trainlab {

struct Manifest;

// How a stage works: from the command line, or recorded in the manifest of a run that is continued. Every default is
// settled (run.h: settled, Run::settings_for).
struct RunSettings {
  std::int64_t seed = 1;
  int threads = 1;              // of one training
  std::string device = "auto";  // of this engine
  bool quiet = false;           // no progress on standard error
  // `trainlab extend`, now or in earlier processes: at most a length and a time, that of this process last.
  std::vector<NewTotal> extended;
  bool extends_now = false;    // by this process: then the last must be more than the total so far
  bool is_mended = false;      // `trainlab resume --recipe`, now or earlier: rules may be others than before
  std::optional<int> workers;  // --workers: processes that work on a study's trials
  // `trainlab worker --study URL`: this run helps with studies that another run has begun in this database. Else empty.
  std::string study = {};
  // Where the files of the run lie or will lie, or the working folder of a command that makes no run; empty: unknown.
  std::filesystem::path folder = {};
  bool counts_flops = false;  // the run has a budget of FLOPs, in which only trainings of known FLOPs fit
  // The values that this stage chose when it began, by option, where an option leaves the choice to the stage; nil
  // before. A stage that goes on keeps its choice.
  Value chosen = {};
  // The changes that this stage has made in its own options since it began, the oldest first (train/fix.h).
  Value::List fixes = {};
  // Takes a line about a preparation that takes long; null: nobody is to be told.
  std::function<void(const std::string&)> say = {};
};

// One stage while it runs.
struct StageContext {
  std::string name;
  std::filesystem::path folder;  // exists; the stage's own (top of the run, or stages/NAME)
  const RunSettings* settings = nullptr;
  bool resumed = false;       // the folder holds an earlier attempt
  bool is_kept = true;        // else the folder is removed after the run, and the stage leaves nothing elsewhere either
  double seconds_before = 0;  // of earlier attempts
  // Seconds until the stage must have ended, of the budget of time of its run; negative afterwards. Null without such a
  // budget. Called by the recipe's thread.
  std::function<double()> seconds_left = {};
  double seconds_in_all = 0;  // the length of the stage's share of that budget; 0 without such a budget
  // The FLOPs of the run's budget that the stage may use, from its first step on; infinite without such a budget. A
  // training ends with the last step that fits, and takes one at least.
  double most_flops = std::numeric_limits<double>::infinity();
  // `trainlab check --callbacks`: there is no folder, and the recipe's functions are called all the same. Loops end
  // after a few steps.
  bool is_rehearsal = false;
  // The trial ("trial 3") with whose checkpoint this stage begins under other parameters; else empty.
  std::string clone_of = {};

  // For stages on which several processes work. `helps`: the stage belongs to another engine; this engine only takes
  // trials, and the value that its stage returns is ignored.
  bool helps = false;
  // For an engine that helps: whether the engine that owns the stage still works on the run. Reads files.
  std::function<bool()> run_goes_on = {};
  std::string supervisor = {};         // holder_name() of the run's supervisor; empty: this engine joined from outside
  const Manifest* manifest = nullptr;  // what the run was begun with
  // Asks for engines, so that `count` work on this stage, this one included.
  std::function<void(int count)> ask_for_workers = {};

  // Commands that say what the steps of the training wait for: of the recipe's stage, and in this run while it trains.
  // Empty where there is none.
  std::string profile_recipe = {}, profile_run = {};

  // A line for log.txt and, unless quiet, standard error. Thread-safe.
  std::function<void(const std::string&)> say = {};
  // The same for a line about work that was lost, which a quiet run shows too.
  std::function<void(const std::string&)> say_damage = {};
  // Hears a warning of a likely mistake, without the word "warning:"; null where warnings are lines like others. Called
  // by the recipe's thread.
  std::function<void(const std::string&)> on_warning = {};
  void warn(const std::string& text) const { on_warning ? on_warning(text) : say("warning: " + text); }
  // Like `say`, for a line that says why the bytes of this run are not those of another one of the same recipe; the
  // manifest keeps the line.
  std::function<void(const std::string&)> say_inexact = {};
  // Records RunSettings::chosen in the manifest. Null where there is no manifest of the stage's own, as in a trial.
  std::function<void(const Value& chosen)> choose = {};
  // Records RunSettings::fixes, and in the same write of the manifest why the bytes are not those of another run, as
  // say_inexact does; empty where they are.
  std::function<void(const Value::List& fixes, const std::string& why_inexact)> keep_fixes = [](const Value::List&,
                                                                                                const std::string&) {};
};

// For a stage that leaves nothing: without a folder, and with nobody who hears its lines.
inline StageContext silent_context(const Options& stage) {
  return {.name = stage.string("name"), .folder = {}, .say = [](const std::string&) {}};
}

// Raised by a stage whose work is done when something after the work goes wrong: a function of the recipe that is
// called at the end. The summary is kept. The stage counts as failed, and a resume repeats only what comes after.
class LateError : public Error {
 public:
  LateError(Error error, Value summary) : Error(std::move(error)), summary_(std::move(summary)) {}
  const Value& summary() const { return summary_; }

 private:
  Value summary_;
};

// Whether a function of the recipe has raised this error: it has the function's calls, or the function's line and no
// option.
inline bool is_raised_by_function(const Error& error) {
  const bool has_line_alone = error.line() > 0 && error.path().empty();
  return error.kind() == ErrorKind::recipe && (has_line_alone || !error.traceback().empty());
}

// Raised when a function of the recipe, or what the recipe reads, goes wrong in a training of which a resume can use
// something. `kept` says in words what a resume goes on from; empty before the first step. `is_of_function`: a mended
// recipe may help. `failed_after`: the steps that were done, where a function went wrong with which the stage trains or
// measures; a mended recipe may then change such functions.
class SavedError : public Error {
 public:
  SavedError(Error error, std::string kept, bool is_of_function, std::optional<std::int64_t> failed_after)
      : Error(std::move(error)), kept_(std::move(kept)), is_of_function_(is_of_function), failed_after_(failed_after) {}
  const std::string& kept() const { return kept_; }
  bool is_of_function() const { return is_of_function_; }
  const std::optional<std::int64_t>& failed_after() const { return failed_after_; }

 private:
  std::string kept_;
  bool is_of_function_;
  std::optional<std::int64_t> failed_after_;
};

// The parts of a stage that `trainlab check` also tries out.
struct CheckedToo {
  bool step = false;       // one training and one validation step
  bool callbacks = false;  // each function of the recipe, on a few samples
};

// The findings of a check: as `trainlab check` prints them, and the same facts as data.
struct Checked {
  std::string text;
  Value facts;  // a map with at least `name` and `kind`
};

// Runs a prepared stage to its end or raises; returns the summary (summary.json without name, kind, out …: what the
// kind does not fill in is added by the caller). Interrupted work ends with status "interrupted".
using StageWork = std::function<Value(const StageContext& context)>;

// The trainings of which a stage is made.
struct StageTrainings {
  Options first;                         // checked: the first trial that can be built, or the fit that is searched for
  std::string name = {};                 // of the first: "trial 0 of sweep search (lr = 0.012)"
  std::string option = {};               // that gives the trainings, and below which --set changes them
  std::vector<TrainingWave> waves = {};  // of all trials; empty: as many as the stage comes to
  std::int64_t repeats = 1;              // trainings of a trial, all of which one process trains
  std::int64_t at_end = 0;               // whole trainings that begin when all trials have ended
  std::int64_t together = 1;             // trainings that the stage trains as one group
  int workers = 1;                       // processes that train side by side, no more than can have work
  bool validations_decide = false;       // whether their validations decide which trainings end and which go on
  bool may_be_fewer = false;             // whether the stage may end some of them early, or leave some out
  bool may_end_early = false;            // whether the stage may end before its own time where it has no waves
  double share = 1;                      // of the time that the stage has in its run's budget: that of the trainings
  std::int64_t predictions = 0;          // trained models that predict together when all trainings have ended
};

struct StageKind {
  // Whether engines that do not own the stage can help with it.
  bool is_shared = false;
  // Whether the stage's summary has the FLOPs of all its trainings (`flops`), and StageContext::most_flops bounds them.
  bool counts_flops = false;
  // The share of what is left of the run's budget that such a stage may use when other stages follow it.
  double budget_share = 0.5;
  // Why only engines that see the run's folder can help with such a stage; an empty text where others can too. Null of
  // a stage that is not shared.
  std::function<std::string(const Options& stage)> needs_folder = {};

  // The trainings of a stage that is made of trainings, for commands that measure steps. Raises Error{recipe}, and the
  // errors of the function `build`. Null for a stage that is a training itself.
  std::function<StageTrainings(const Options& stage, const RunSettings& settings)> trainings = {};

  // Checks the stage completely and gets ready to run it (data opened, shapes inferred); writes nothing, so that a
  // recipe that is wrong leaves no run folder.
  std::function<StageWork(const Options& stage, const RunSettings& settings)> prepare;
  // Checks completely without running.
  std::function<Checked(const Options& stage, const RunSettings& settings, const CheckedToo& too)> check;
  // Does what others may see only of a run that has succeeded. Called once the results of all stages of the run are on
  // the disk, for each stage in order; a process that is killed between the two has left it undone. Returns lines for
  // the log; none where there is nothing to publish. After lines, it is called again only where the stage has gone on
  // since, or the process was killed. May be null.
  std::function<std::vector<std::string>(const Value& summary, const std::filesystem::path& run)> publish = {};
  // Data of the room that registers the kind, of a type of that room, whose functions give it to the rooms above.
  std::any own = {};
};

// The key of a stage, given as the value of its spec: its option `name`, or its kind where that takes no name.
std::string stage_key(const Registry& registry, const Value& stage);

// The share of what is left of the run's budget that this stage may use: all of it if the recipe returns the stage
// (`is_last`), else that of its kind. The rest is for the stages after it, as the fresh seeds that confirm a search
// (docs/budgets.md).
double budget_share(const Options& stage, bool is_last);

// Set by SIGTERM in the engine ("checkpoint and stop"). Work polls it at every step. Async-signal-safe to set.
bool stop_requested();
void request_stop();
void clear_stop_request();  // for tests that interrupt and go on in one process
void install_stop_handler();

}  // namespace trainlab
