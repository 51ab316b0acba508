#include "run/stage_files.h"

#include <fstream>

#include "run/folder.h"
#include "run/shell_word.h"
#include "run/stored_model.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

bool is_there(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored);
}

// Error{run} for what is no file.
std::int64_t size_of_file(const fs::path& file) {
  std::error_code failed;
  const std::uintmax_t bytes = fs::file_size(file, failed);
  if (failed) throw run_error("cannot read " + file.string() + ": " + failed.message());
  return static_cast<std::int64_t>(bytes);
}

bool is_of_task(const Value& summary) { return summary["kind"] == Value("task"); }

bool ends_with_line(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  in.seekg(-1, std::ios::end);
  return in.get() == '\n';
}

// The info of the newest commit that can be read: what it counts is the least that must be there. nil without one.
Value newest_readable(const fs::path& folder) {
  for (const fs::path& path : commits(folder)) {
    try {
      return read_commit(path);
    } catch (const Error&) {
      // kept_commit() tells this damage.
    }
  }
  return {};
}

// Error{recipe} where a fit that has ended lacks the checkpoint that it wrote at its end. The members of a group are
// saved together, some of them at a later step than that at which they have stopped. `all`: commits(folder).
void check_last(const fs::path& folder, const Value& summary, const std::vector<fs::path>& all) {
  if (!is_finished(summary) || is_of_task(summary) || !summary["steps"].is_integer()) return;
  const std::int64_t expected = summary["steps"].integer();
  const std::int64_t found = all.empty() ? 0 : step_of_commit(all.front());
  if (found >= expected) return;
  throw recipe_error(folder.string() + ": expected the checkpoint of step " + std::to_string(expected) +
                     ", the last of this fit, found " +
                     (found == 0 ? "no checkpoint" : "none after step " + std::to_string(found)));
}

// The last checkpoint by its name, and its tensors. Whoever needs to know what it says of other files reads it.
void check_last_is_there(const fs::path& folder, const Value& summary) {
  const std::vector<fs::path> all = commits(folder);
  check_last(folder, summary, all);
  if (all.empty()) return;
  fs::path tensors = all.front();
  if (!is_there(tensors.replace_extension(".safetensors"))) throw lost_file(tensors);
}

// metrics.jsonl up to the end of its last row, where metrics tell that there were rows.
void check_end_of_rows(const fs::path& folder, const Value& summary) {
  const bool has_metrics = summary["metrics"].is_map() && !summary["metrics"].map().empty();
  const fs::path rows = folder / "metrics.jsonl";
  if (!is_there(rows)) {
    if (has_metrics) throw lost_file(rows);
  } else if (size_of_file(rows) == 0) {
    if (has_metrics) throw damaged_file(rows, "it is empty");
  } else if (!ends_with_line(rows)) {
    throw damaged_file(rows, "its last row is cut off");
  }
}

void check_model_file(const fs::path& folder) {
  const fs::path file = folder / "model.json";
  if (read_json(file).is_nil()) throw lost_file(file);
}

class Damages {
 public:
  template <class Check>
  void note(const Check& check) {
    try {
      check();
    } catch (const Error& error) {
      all.push_back(error.kind() == ErrorKind::recipe ? run_error(error.message()) : error);
    }
  }

  void of_model(const fs::path& folder) {
    Value summary;
    note([&] { summary = read_summary(folder); });
    if (!is_finished(summary)) return;
    if (!is_of_task(summary)) {
      note([&] { check_model_file(folder); });
      note([&] { check_last_is_there(folder / "checkpoints", summary); });
    }
    note([&] { check_end_of_rows(folder, summary); });
  }

  void of_study(const fs::path& folder) {
    note([&] { check_study(folder); });
    std::vector<StoredModel> models;
    note([&] {
      try {
        if (is_finished(read_summary(folder))) models = models_behind(folder);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::usage) throw;  // a study without a complete trial has no model
      }
    });
    for (const StoredModel& model : models) {
      note([&] { check_trial(folder, model.folder); });
      of_model(model.folder);
    }
  }

  std::vector<Error> all;
};

}  // namespace

std::vector<Error> damages_of_stage(const fs::path& folder, const std::string& kind) {
  Damages damages;
  if (kind == "sweep" || kind == "ensemble") {
    damages.of_study(folder);
  } else {
    damages.of_model(folder);
  }
  return std::move(damages.all);
}

void check_rows(const fs::path& folder) {
  const Value summary = read_summary(folder);
  if (!is_finished(summary)) return;
  check_end_of_rows(folder, summary);
  const Value counted = newest_readable(folder / "checkpoints")["metrics_bytes"];
  if (!counted.is_integer()) return;  // of a task without a loop that saves
  const fs::path rows = folder / "metrics.jsonl";
  const std::int64_t bytes = is_there(rows) ? size_of_file(rows) : 0;
  if (bytes >= counted.integer()) return;
  throw damaged_file(rows, "expected the " + std::to_string(counted.integer()) +
                               " bytes that the last checkpoint counts, found " + std::to_string(bytes));
}

void check_model(const fs::path& folder) {
  const Value summary = read_summary(folder);
  if (is_finished(summary) && !is_of_task(summary)) check_model_file(folder);
}

void check_study(const fs::path& folder) {
  const Value summary = read_summary(folder);
  const fs::path study = folder / "study.db";
  if (!is_finished(summary) || !summary["trials"].is_map()) return;
  if (is_there(study)) {
    if (size_of_file(study) == 0) throw damaged_file(study, "it is empty");
    return;
  }
  throw run_error(study.string() + " is gone, which held the trials of this sweep")
      .hint("summary.json has its best trial, and the trials' folders are in " + (folder / "trials").string());
}

void check_trial(const fs::path& folder, const fs::path& model) {
  if (is_there(folder / "database.json") && !is_there(model)) return;
  if (read_summary(model).is_nil()) throw lost_file(model / "summary.json");
}

std::optional<Commit> kept_commit(const fs::path& folder, const Value& summary,
                                  const std::function<void(const Error&)>& pass_over) {
  std::optional<Error> damage;
  const auto note = [&](const Error& error) {
    // A file that cannot be read now may be whole: only wrong content counts as damage.
    if (error.kind() != ErrorKind::recipe) throw error;
    if (!damage) damage = error;
  };
  const std::vector<fs::path> all = commits(folder);
  try {
    check_last(folder, summary, all);
  } catch (const Error& error) {
    note(error);
  }
  const auto kept_best = [&](const Value& info) {
    // Other commits than the last one of a fit may name best weights that were surpassed later.
    const Value& step = summary["best"]["step"];
    const bool is_known = damage && is_finished(summary) && step.is_integer();
    return is_known ? commit_stem("best", step.integer()) : info["best_weights"].string();
  };
  Value best;
  for (const fs::path& path : all) {
    Value info;
    try {
      info = read_commit(path);
    } catch (const Error& error) {
      note(error);
      continue;
    }
    if (best.is_nil() && info["best_weights"].is_string()) best = verified_tensors(folder, kept_best(info));
    if (best.is_nil() && damage) break;  // the weights that the fit has kept were the last ones
    try {
      Commit commit = verified_commit(folder, path, /*with_best=*/false);
      commit.best = best;
      if (damage) pass_over(*damage);
      return commit;
    } catch (const Error& error) {
      note(error);
    }
  }
  if (damage) throw Error(*damage);
  return std::nullopt;
}

Error damaged_weights(const fs::path& folder, const Error& damage) {
  Error error = run_error(damage.message());
  if (const std::optional<fs::path> run = run_around(folder))
    error.hint("what can still be used is told by: trainlab resume " + shell_word(*run));
  return error;
}

void check_goes_on(const fs::path& stage, const std::string& kind) {
  // A study in a database is there without its copy.
  if (kind == "sweep" && !is_there(stage / "database.json")) return check_study(stage);
  const Value summary = read_summary(stage);
  if (kind != "fit" || !is_finished(summary)) return;
  const fs::path folder = stage / "checkpoints";
  const std::vector<fs::path> all = commits(folder);
  std::optional<Error> damage;
  for (const fs::path& path : all) {
    try {
      verified_commit(folder, path, /*with_best=*/true);
      return;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::recipe) throw;
      if (!damage) damage = error;
    }
  }
  try {
    if (damage) throw Error(*damage);
    check_last(folder, summary, all);
  } catch (const Error& error) {
    throw damaged_weights(stage, error);
  }
}

}  // namespace trainlab
