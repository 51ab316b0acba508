#include "run/folder.h"

#include "core/files.h"
#include "run/commit.h"
#include "run/latest.h"
#include "run/manifest.h"
#include "run/shell_word.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t largest_file = std::int64_t{256} << 20;

// The folder of the stage whose trial lies in this folder, STAGE/trials/0007/seed-1; empty for another folder.
fs::path stage_of_trial(const fs::path& path) {
  const fs::path trials = path.parent_path().parent_path();
  std::error_code ignored;
  const bool is_trial = trials.filename() == "trials" && path.filename().string().starts_with("seed-");
  return is_trial && fs::exists(path, ignored) ? trials.parent_path() : fs::path();
}

// Whether a stage has left files in the run: such a stage has a record.
bool has_files_of_stages(const fs::path& run) {
  std::vector<fs::path> folders = {run};
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(run / "stages", failed)) folders.push_back(entry.path());
  for (const fs::path& folder : folders) {
    for (const char* name : {"checkpoints", "metrics.jsonl", "model.json", "study.db", "summary.json"}) {
      if (fs::exists(folder / name, failed)) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<fs::path> run_around(const fs::path& path) {
  std::error_code ignored;
  for (fs::path folder = fs::absolute(path).lexically_normal(); folder.has_relative_path();
       folder = folder.parent_path()) {
    // A file of the same name may belong to another program. The sources of the recipe lie beside a run's manifest.
    if (fs::exists(manifest_path(folder), ignored) && fs::is_directory(folder / "recipe", ignored)) return folder;
  }
  return std::nullopt;
}

namespace {

// The error of a file that only a copy can mend.
Error mended_by_copy(const fs::path& file, const std::string& what) {
  const std::optional<fs::path> run = run_around(file);
  return run_error(file.string() + what)
      .hint("put the file back from a copy" + (run ? ", then go on: trainlab resume " + shell_word(*run) : ""));
}

}  // namespace

Error damaged_file(const fs::path& file, const std::string& why) { return mended_by_copy(file, " is damaged: " + why); }

Error lost_file(const fs::path& file) { return mended_by_copy(file, " is missing, which this run has written"); }

Value read_json(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {};
  const std::string text = read_file(path, largest_file);
  if (text.empty()) throw damaged_file(path, "it is empty");
  try {
    return parse_json(text, path.string());
  } catch (const Error&) {
    throw damaged_file(path, "it is not valid JSON");
  }
}

bool is_there(const fs::path& path, const fs::path& folder) {
  std::error_code failed;
  const bool is = fs::exists(path, failed);
  if (!failed) return is;
  Error error = usage_error("cannot look into the run folder " + folder.string() + ": " + failed.message());
  if (failed == std::errc::permission_denied)
    error.hint("only who may read a run's folder, and enter the folders above, can ask for the run");
  throw error;
}

fs::path find_run(const fs::path& folder) {
  fs::path path = with_latest(fs::absolute(folder).lexically_normal());
  if (!path.has_filename()) path = path.parent_path();  // "RUN/"
  if (const fs::path stage = stage_of_trial(path); !stage.empty()) path = stage;
  if (is_there(manifest_path(path), path)) return path;
  const fs::path run = path.parent_path().parent_path();
  if (path.parent_path().filename() == "stages" && is_there(manifest_path(run), run)) return run;
  if (!is_there(path, path)) {
    throw usage_error("there is no folder " + path.string()).hint("`trainlab list` shows the runs below this folder");
  }
  throw usage_error(path.string() + " is not a run folder: it has no manifest.toml")
      .hint("`trainlab list` shows the runs below this folder");
}

Value read_summary(const fs::path& folder) {
  Value summary = read_json(folder / "summary.json");
  if (!summary.is_nil() && !(summary.is_map() && summary["status"].is_string())) {
    throw damaged_file(folder / "summary.json", "it has no status");
  }
  return summary;
}

Value read_stage_summary(const fs::path& folder) {
  Value summary = read_summary(folder);
  if (!summary.is_nil()) summary.set("out", folder.string());
  return summary;
}

bool is_finished(const Value& summary) {
  const Value& status = summary["status"];
  return status.is_string() && (status.string() == "done" || status.string() == "stopped");
}

bool has_diverged(const Value& summary) {
  const Value& reason = summary["reason"];
  if (summary["status"] != Value("failed") || !summary["metrics"].is_map() || !reason.is_string()) return false;
  // The reasons of engine/train: "the training loss is not finite at step 12". An error of the recipe has its position
  // in front.
  const std::string& text = reason.string();
  return text.starts_with("the ") && text.find(" not finite") != std::string::npos;
}

void keep_for_going_on(Value& summary, const Value& before) {
  for (const char* key : {failed_after_key, promotion_key})
    if (!before[key].is_nil() && summary[key].is_nil()) summary.set(key, before[key]);
}

bool may_change_functions(const fs::path& stage) {
  const Value step = read_summary(stage)[failed_after_key];
  if (!step.is_integer()) return false;
  const std::vector<fs::path> saved = commits(stage / "checkpoints");
  return saved.empty() || step_of_commit(saved.front()) <= step.integer();
}

std::vector<StageRecord> read_stages(const fs::path& run) {
  const fs::path path = run / "stages.json";
  Value list = read_json(path);
  std::vector<StageRecord> stages;
  if (list.is_nil() && has_files_of_stages(run)) {
    // The first stage may have begun since: its other files come after its record.
    list = read_json(path);
    if (list.is_nil()) throw lost_file(path);
  }
  if (list.is_nil()) return stages;
  if (!list.is_list()) throw damaged_file(path, "it is not a list of stages");
  for (const Value& stage : list.list()) {
    if (!stage["name"].is_string() || !stage["kind"].is_string() || !stage["folder"].is_string())
      throw damaged_file(path, "a stage lacks its name, kind or folder");
    stages.push_back(
        {stage["name"].string(), stage["kind"].string(), stage["folder"].string(), stage["published"] == Value(true)});
  }
  return stages;
}

StageRecord find_stage(const fs::path& folder, const std::optional<std::string>& asked) {
  const fs::path given = with_latest(fs::absolute(folder));
  const fs::path run = find_run(given);
  const std::vector<StageRecord> stages = read_stages(run);
  if (stages.empty()) throw usage_error("no stage of " + run.string() + " has begun yet");
  std::string name = stages.back().name;
  const fs::path own = (given / "").lexically_normal().parent_path();
  const fs::path with_trial = asked ? fs::path() : stage_of_trial(own);
  if (asked) {
    name = *asked;
  } else if (const fs::path& below = with_trial.empty() ? own : with_trial; below != run) {
    name = below.filename().string();
  } else if (const Value summary = read_summary(run); summary["name"].is_string()) {
    name = summary["name"].string();
  }
  std::string all;
  for (const StageRecord& stage : stages) {
    if (stage.name == name) {
      if (with_trial.empty()) return {name, stage.kind, stage_path(run, stage.folder).string()};
      const Value kind = read_summary(own)["kind"];
      return {name, kind.is_string() ? kind.string() : "fit", own.string()};
    }
    all += (all.empty() ? "" : ", ") + stage.name;
  }
  throw usage_error("the run in " + run.string() + " has no stage \"" + name + "\"").hint("it has " + all);
}

void write_stages(const fs::path& run, const std::vector<StageRecord>& stages) {
  Value::List list;
  for (const StageRecord& stage : stages) {
    Value one = Value::Map{{"name", stage.name}, {"kind", stage.kind}, {"folder", stage.folder}};
    if (stage.is_published) one.set("published", true);
    list.push_back(std::move(one));
  }
  write_atomic(run / "stages.json", to_json(list, 2) + "\n");
}

}  // namespace trainlab
