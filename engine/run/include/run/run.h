// Run: the engine's side of a run: its folder, its stages, its log, its end.
//
// Recipes are durable: each process executes the same recipe alike. A stage that is finished gives its stored
// summary; one that is not runs, or goes on. The folder comes into being with the first stage: a recipe that runs none
// leaves nothing behind.
//
//   Run run(registry, request, environment, *start.channel);
//   try {
//     … execute the recipe: run.source(…), run.parameter(…), run.stage(…, false) for each lab.run …
//     run.stage(returned, true);
//     return run.finish();
//   } catch (const Error& error) {
//     return run.fail(error);
//   }
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"
#include "core/registry.h"
#include "run/budget.h"
#include "run/control.h"
#include "run/folder.h"
#include "run/manifest.h"
#include "run/request.h"
#include "run/stage.h"
#include "run/time_keeper.h"

namespace trainlab {

// Facts about the engine's process that this module, which knows neither LibTorch nor Lua, is told.
struct Environment {
  std::string libtorch;  // its version
  std::string device;    // that of --device, or what "auto" stands for: "cpu", "cuda", "cuda:1"
  double started = 0;    // when the run began, wall seconds: what the recipe was told, so that it is recorded
  // Makes arithmetic use this many threads from now on. Called on the recipe's thread.
  std::function<void(int)> use_threads;
  // Called with a device as a run records it ("cpu", "cuda"), gives the device on which this engine works: "cpu",
  // "cuda:0". With several devices of a kind each engine has another one. Raises Error{usage} for a missing device.
  std::function<std::string(const std::string&)> own_device;
  // The answers of Run::latest() that are known before it is asked.
  Value::Map latest = {};
  // By which a budget of time is counted; monotonic, in seconds.
  std::function<double()> clock = {};
};

// Cores that this process may use: its affinity, within the CPU quota of its control group.
int usable_cores();

// The settings that a request gives before any stage is known. Their threads are those of a single training.
RunSettings settled(const Request& request);

// The error of a stage. If a --set gave the option that the error is about, the hint names this --set.
Error with_origin(Error error, const std::vector<std::string>& set, const std::string& stage, bool returned);

// Raised in an engine that helps when it is no longer needed: the run has ended, or the engine has come to a stage for
// which it cannot wait.
class NothingLeft : public std::exception {};

// A run as the engine's process sees it: its folder, its recorded stages, its settings.
//
// An engine that helps (Request::helps) executes the recipe too. It takes trials of a stage on which several processes
// work, and waits for the summary of any other stage. It writes only into trials that it has leased, and its own log.
//
// Only the recipe's thread uses a Run, except for say() and say_damage(), which any thread may call.
class Run {
 public:
  Run(const Registry& registry, Request request, Environment environment, Channel& channel);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // The settings of the whole run. They are known before the first stage begins, because lab.seed needs them.
  const RunSettings& settings() const { return settings_; }

  // The text that `trainlab check` prints of a stage. Raises Error.
  Checked check(const Options& stage, const CheckedToo& too) const;
  // The settings with which the stage would run, for commands that try a stage. Arithmetic uses their threads from now
  // on. Raises the error of a stage before it that did not end well.
  RunSettings begin_trial_of(const Options& stage) const;

  // A source that was loaded: the recipe first, then each module, by path relative to the recipe's folder, '/'
  // between. Kept in recipe/. Raises Error{usage} when a continued run had other text under this path.
  void source(const std::string& path, std::string_view text);
  // The hash of each source so far, by its path; the recipe is among them.
  std::map<std::string, std::string> source_hashes() const;
  // With Request::mends: the sources so far, and those that come, take the place of the run's, which are kept in
  // recipe-before-N/. Called before the stage that goes on, when all stages are known to be the run's.
  void replace_recipe();
  // The value of a declared parameter (boolean, number, integer or string; a path is absolute). Before the first stage.
  void parameter(const std::string& name, Value value);
  // The newest run in a folder runs/NAME that has ended (run/latest.h), empty where there is none. The run keeps the
  // answer: whoever executes its recipe again gets the same one.
  std::filesystem::path latest(const std::filesystem::path& runs);
  // lab.budget, with its options as checked, and what its money pays for; before the first stage. Error{recipe} for
  // options that do not fit, and for a second budget.
  void budget(const Value& options, std::optional<PaidTime> paid);
  // The budget that lab.budget and --within give; BudgetTerms::is_none() where neither does.
  BudgetTerms budget_terms() const;
  // The FLOPs of this budget that are left for a stage, with its share of them; infinite where they are not bounded.
  double flops_left_for(const Options& stage, bool is_last) const;
  // Whether a stage has begun: no parameter may be declared any more.
  bool begun() const { return folder_.has_value(); }

  // Runs a stage to its end, or gives the summary that it ended with earlier; checked options of an entry of kind
  // "stage". `returned`: the recipe returned it. The summary is as summary.json has it (a NaN is nil), the same in the
  // process that ran the stage and in all later ones.
  //   name, kind, status, reason, out, seconds, resumed are filled in where the kind left them out; `seconds` from the
  //   kind counts all attempts.
  // Raises what the stage raised (Error{run} for what is no Error); Error{interrupted} or Error{run} when its status is
  // "interrupted" or "failed"; Error{recipe} for a name that is taken, no file name, or out of the recorded order;
  // Error{usage} when the folder is refused. After a stage that did not end well every call raises the same again: a
  // recipe cannot go on. NothingLeft in an engine that helps.
  Value stage(const Options& stage, bool returned);

  // Asks the engines that help to end, and does not wait for them: the recipe goes on to a stage that this engine
  // tries.
  void end_help();

  // The folder of a stage whose summary stage() has returned.
  std::filesystem::path stage_folder(const std::string& name) const;

  // The recipe has ended; tells the supervisor and gives the exit code.
  int finish();
  void publish();
  int fail(const Error& error);

  // A line for log.txt (kept until there is one) and, unless quiet, standard error.
  void say(const std::string& line);
  // The same for a line about work that was lost: whoever wants no progress still wants to know.
  void say_damage(const std::string& line);
  // A warning of a likely mistake, which no quiet run hides; the summary of the present stage keeps the warning.
  void warn(const std::string& text);

 private:
  struct Done {
    Value stage;  // as the recipe wrote it
    Value summary;
    std::string folder;  // relative to the run
  };
  // The state before `trainlab extend`, which is restored when the stage refuses the new length.
  struct BeforeExtension {
    std::string stage;
    Value summary;
    Manifest manifest;
  };

  // run_open.cpp
  bool open();  // whether the run was begun earlier, and is continued
  void begin_fresh();
  void continue_existing();
  Manifest present() const;
  void extend(const Manifest& recorded);  // `recorded` is what a refused extension restores
  void take_back_extension() noexcept;
  // The run is unfinished from here on, so that `resume` continues it if this process is killed.
  void reopen(const StageRecord& record, Value summary, const std::string& reason) const;
  void save_source(const std::string& path, std::string_view text);
  void save_mended();

  // run_budget.cpp
  void check_budget() const;
  // The budget that the recipe, the command line and the manifest give now; nullopt where they give none.
  std::optional<Budget> present_budget() const;
  void begin_in_budget(const Options& stage, const StageRecord& record);
  // Error{recipe} for a stage whose FLOPs are not counted, in a run with a budget of FLOPs.
  void check_counted(const Options& stage) const;
  // The FLOPs of the budget, 0 where it does not bound them; and those of the stages that have ended.
  double flops_limit() const;
  double flops_used() const;

  // run_help.cpp
  void join();
  void set_time_as_helper(const StageRecord& record, StageContext& context) const;
  Value help(const Options& stage);
  StageRecord await_stage(const Options& stage);
  bool run_goes_on() const;

  // run_stage.cpp
  void check_joining(const Options& stage, const std::string& name) const;
  StageRecord place(const Options& stage, const std::string& name, bool returned, bool& resumed);
  StageWork prepare(const Options& stage, const RunSettings& settings) const;
  Value perform(const StageWork& work, const StageContext& context) const;
  // The settings of the run with the threads of this stage: --threads, or the number that its kind takes.
  RunSettings settings_for(const Options& stage) const;
  // The settings of a stage that has begun, with the extension of this stage.
  RunSettings settings_for(const Options& stage, const StageRecord& record) const;
  // A stop was requested between two stages: raises Error{interrupted}.
  [[noreturn]] void stop_before(const Options& stage, const std::string& name);
  Value attempt(const Options& stage, const StageRecord& record, bool resumed, StageWork prepared);
  Value run_kind(const Options& stage, const StageRecord& record, bool resumed, StageWork prepared,
                 double seconds_before);
  void ask_for_engines(int count) const;  // that work on the run, this one included
  Value complete(Value summary, const StageRecord& record, const Value& before, double seconds) const;
  void save_summary(const StageRecord& record, const Value& summary);
  void save_failure(const StageRecord& record, const std::string& status, const std::string& reason,
                    const Value& before, double seconds, const Value& work = Value::Map{}) noexcept;
  // The error of what comes after finished work, with the command that repeats it alone.
  Error repeatable(Error error) const;
  // The error with the command that goes on with a mended recipe; `what` says what the command does.
  Error mendable(Error error, const std::string& what) const;
  // The same for the recipe as it is; `flags` follow the command. Of a run that is not kept, the error as it is.
  Error resumable(Error error, const std::string& what, const std::string& flags = "") const;
  Error after_stages(const Error& error);

  std::filesystem::path folder_of(const StageRecord& record) const;
  void tell(const std::string& line, bool shows);
  // Says why the run is not byte-exact, and keeps the line in the manifest.
  void say_inexact(const std::string& line);
  void log(const std::string& line);

  const Registry& registry_;
  Request request_;
  Environment environment_;
  Channel& channel_;
  RunSettings settings_;  // threads: as for a single training
  double start_ = 0;      // seconds from the start of the program until this object was made
  bool asks_threads_;     // --threads is given, or recorded

  std::vector<std::pair<std::string, std::string>> sources_;  // path, text; until they are in the folder
  std::string main_source_;                                   // the path of the first: the recipe
  bool replaces_ = false;                                     // replace_recipe() was called
  Value::Map parameters_;
  Value budget_options_;          // of lab.budget; nil without
  std::optional<PaidTime> paid_;  // by its money
  Value::Map latest_;             // Manifest::latest

  std::optional<std::filesystem::path> folder_;
  Manifest manifest_;
  std::optional<Budget> budget_;  // of the run that this engine executes
  std::optional<TimeKeeper> budget_keeper_;
  std::optional<BudgetPause> pause_;  // with which the run ended before it was continued
  std::vector<StageRecord> records_;
  std::optional<BeforeExtension> before_extension_;
  std::size_t position_ = 0;          // stages that this process has asked for
  std::map<std::string, Done> done_;  // by name
  Value::List warnings_;              // of the present stage
  std::string last_;                  // the name of the one that was returned or else run last
  std::optional<Error> ended_;        // by a stage that did not end well
  bool told_by_summary_ = false;      // and whose summary says all

  std::mutex log_mutex_;
  std::optional<AppendFile> log_;
  std::string early_log_;
  bool log_failed_ = false;
};

}  // namespace trainlab
