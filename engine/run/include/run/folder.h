// Run folders: where a run lives, and whose it is.
//
// runs/NAME/NNN below the working directory, or the folder given by --out. A folder is a run's once it holds
// manifest.toml. Its file `lock` is locked for as long as a supervisor lives (an open file description lock: unlike
// flock it can be asked about without being taken) and names its host and process.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/value.h"

namespace trainlab {

// A run folder held under lock. Movable; released when destroyed.
class RunFolder {
 public:
  // The next free runs/NAME/NNN below `base` (NNN from 001). Safe against others doing the same at the same time.
  // Raises Error{usage} when it cannot be written, and as check_outside_runs does.
  static RunFolder allocate(const std::filesystem::path& base, const std::string& name);

  // A folder of the user's choice, made when missing. Raises Error{usage} when another process holds it (naming host
  // and process), when it holds something else than a run, or cannot be written, and as check_outside_runs does for a
  // new run.
  static RunFolder open(const std::filesystem::path& folder);

  ~RunFolder();
  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  bool existed() const { return existed_; }  // had a manifest when it was opened

 private:
  RunFolder(std::filesystem::path path, std::filesystem::path root);
  void lock();
  void check();

  std::filesystem::path path_;
  // The lowest of its folders that was there before: what was made goes again if it never becomes a run. Empty when
  // path_ itself was there.
  std::filesystem::path root_;
  bool existed_ = false;
  int fd_ = -1;
};

// Removes the temporaries of files that a killed process has left half written. A process that lives may rename its
// own at any moment: a worker that has joined from outside.
void remove_temporaries(const std::filesystem::path& run);

// 7 for "007": the number of a run in runs/NAME by the name of its folder. Nothing for a name that is no such number.
std::optional<int> run_number(const std::string& name);

// The run that a folder named on the command line belongs to: itself, or, of one of its stages/NAME and of a trial's
// trials/0007/seed-1, the run. In runs/NAME/latest it is that of run/latest.h. Absolute. Raises Error{usage} when it is
// no run.
std::filesystem::path find_run(const std::filesystem::path& folder);
// Whether `path`, a run's folder or something in it, is there. Raises Error{usage}, which names the folder, where this
// cannot be seen.
bool is_there(const std::filesystem::path& path, const std::filesystem::path& folder);

// The name of a supervisor of this host by the number of its process: "host 1234".
std::string holder_name(std::int64_t process);
// Whether a supervisor holds the run now, and which, by this name; nullopt when none does.
std::optional<std::string> holder(const std::filesystem::path& run);

// Asked before a folder is made for a new run, or for the runs of a comparison or a plan: Error{usage} where it would
// lie within a run, whose files would no longer be its own, also by symbolic links; and where its path stands for a
// run, runs/NAME/latest (run/latest.h).
void check_outside_runs(const std::filesystem::path& folder);

// The run in whose folder a file or a folder lies, by the nearest manifest.toml above it that has a folder recipe
// beside it; nullopt where there is none.
std::optional<std::filesystem::path> run_around(const std::filesystem::path& path);

// The Error{run} of a file in a run folder that does not hold what trainlab wrote there; `why` in words. The hint names
// the command that goes on with the run.
Error damaged_file(const std::filesystem::path& file, const std::string& why);
// The same of a file that trainlab wrote there, and that is gone.
Error lost_file(const std::filesystem::path& file);

// A JSON file of a run folder, nil where there is none. Raises damaged_file for what is no JSON.
Value read_json(const std::filesystem::path& path);

// summary.json of a folder, nil where there is none. Raises damaged_file.
Value read_summary(const std::filesystem::path& folder);
// The same of a stage, for a recipe that goes on with the stage's result: `out` is the folder as given, because the run
// may have been moved since the stage ended.
Value read_stage_summary(const std::filesystem::path& folder);
// The member of a stage's summary that holds SavedError::failed_after().
constexpr const char* failed_after_key = "function_failed_after";
// The member that holds what a fit has decided on its promotion.
constexpr const char* promotion_key = "promotion";
// The summary of a stage that has not ended for good: keeps these two members of the summary before, which the process
// needs with which the stage goes on.
void keep_for_going_on(Value& summary, const Value& before);
// Whether a mended recipe may change the functions with which this stage trains: one of them has raised an error, and
// the stage has saved no later step since.
bool may_change_functions(const std::filesystem::path& stage);
// Whether a stored summary says that its stage has ended for good: done or stopped.
bool is_finished(const Value& summary);
// Whether a loss, or gradients, that were not finite have ended the fit of this summary, and not an error.
bool has_diverged(const Value& summary);

// A stage as stages.json records it, in the order in which the recipe ran them.
struct StageRecord {
  std::string name;
  std::string kind;    // "fit"
  std::string folder;  // relative to the run: "stages/NAME", or "." of one that owns the top
  // Whether StageKind::publish() has published what the stage has trained.
  bool is_published = false;

  bool operator==(const StageRecord&) const = default;
};
// The path of such a folder.
inline std::filesystem::path stage_path(const std::filesystem::path& run, const std::string& folder) {
  return folder == "." ? run : run / folder;
}
// Empty where none has begun. Raises damaged_file, and lost_file where stages have left other files.
std::vector<StageRecord> read_stages(const std::filesystem::path& run);
// The stage that the command line means: with `name`, this stage of the run in the folder `given`; without, the stage
// whose own folder is `given`, or the stage that the recipe returned if `given` is a run's folder. For the folder of an
// ended trial the result is that fit or task, under the name of the trial's stage. The result's `folder` is absolute.
// Raises Error{usage} where there is no such stage.
StageRecord find_stage(const std::filesystem::path& given, const std::optional<std::string>& name);
void write_stages(const std::filesystem::path& run, const std::vector<StageRecord>& stages);

}  // namespace trainlab
