#include "damage.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/words.h"
#include "report/rows.h"
#include "report/texts.h"
#include "run/commit.h"
#include "run/folder.h"
#include "run/manifest.h"
#include "run/shell_word.h"
#include "run/stage_files.h"
#include "run/stored_model.h"

namespace trainlab::cli {

namespace fs = std::filesystem;

namespace {

// A stage that keeps no model, as a task or a study without a complete trial, has nothing to check.
std::vector<StoredModel> kept_models(const StageRecord& stage, const fs::path& folder) {
  if (stage.kind == "fit") return {{.folder = folder}};  // also where its summary is damaged
  try {
    return models_behind(folder);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    return {};
  }
}

class Look {
 public:
  explicit Look(fs::path run) : run_(std::move(run)) {}

  void files() {
    std::vector<StageRecord> stages;
    note([&] { read_manifest(run_); });
    note([&] { read_summary(run_); });
    note([&] { stages = read_stages(run_); });
    note([&] { report::report_text(run_); });
    for (const StageRecord& stage : stages) {
      note([&] { read_summary(folder_of(stage)); });
      note([&] { report::read_rows(folder_of(stage)); });
    }
    has_report_ = damages_.empty();
    for (const StageRecord& stage : stages) {
      const fs::path folder = folder_of(stage);
      for (const Error& damage : damages_of_stage(folder, stage.kind)) keep(damage);
      note([&] {
        for (const StoredModel& model : kept_models(stage, folder)) {
          if (model.folder != folder) files_of_trial(model.folder);
          weights(model.folder);
        }
      });
    }
  }

  // Raises what was found. Of a single file all is said as every other command says it.
  void tell() const {
    if (damages_.empty()) return;
    std::vector<std::string> hints = usable();
    if (lost_ > 0) hints.emplace_back("a new run trains what is lost again");
    if (damages_.size() == 1) {
      const Error& damage = damages_.front();
      if (!damage.hint().empty()) hints.insert(hints.begin(), damage.hint());
      throw run_error(damage.message()).hint(joined(hints, "; "));
    }
    std::string message = std::to_string(damages_.size()) + " files of the run in " + run_.string() + " are damaged:";
    for (const Error& damage : damages_)
      message += "\n  " + damage.message() + (damage.hint().empty() ? "" : "; " + damage.hint());
    throw run_error(message).hint(joined(hints, "; "));
  }

 private:
  fs::path folder_of(const StageRecord& stage) const { return (run_ / stage.folder).lexically_normal(); }

  template <class F>
  void note(const F& look) {
    try {
      look();
    } catch (const Error& error) {
      keep(error);
    }
  }

  // A file may be told by several looks at it: the first of them counts.
  void keep(const Error& damage) {
    if (std::ranges::find(damages_, damage.message(), &Error::message) == damages_.end()) damages_.push_back(damage);
  }

  void files_of_trial(const fs::path& folder) {
    note([&] { read_json(folder / "model.json"); });
    note([&] { report::read_rows(folder); });
  }

  void weights(const fs::path& model) {
    const fs::path folder = model / "checkpoints";
    Value summary;
    note([&] { summary = read_summary(model); });
    bool is_passed_over = false;
    try {
      const std::optional<Commit> kept = kept_commit(folder, summary, [&](const Error& damage) {
        is_passed_over = true;
        keep(damage);
      });
      if (!kept) return;
      ++verified_;
      if (!is_passed_over) return;
      add_whole(folder, kept->best);
    } catch (const Error& error) {
      keep(error);
      ++lost_;
    }
    list_whole(folder, !is_passed_over);
  }

  // The best weights as the newest commit names them, and the tensors of each commit, as far as they are whole.
  void list_whole(const fs::path& folder, bool wants_best) {
    for (const fs::path& path : commits(folder)) {
      try {
        const Value info = read_commit(path);
        if (const Value& best = info["best_weights"]; best.is_string() && std::exchange(wants_best, false))
          add_whole(folder, verified_tensors(folder, best.string()));
      } catch (const Error&) {
        // Its own tensors may be whole.
      }
      try {
        add_whole(folder, verified_tensors(folder, path.stem().string()));
      } catch (const Error&) {
        // An older one may be whole.
      }
    }
  }

  void add_whole(const fs::path& folder, const Value& info) {
    const std::string file = report::shown_path(folder / info["file"].string());
    if (std::ranges::find(whole_, file) == whole_.end()) whole_.push_back(file);
  }

  std::vector<std::string> usable() const {
    std::vector<std::string> all;
    if (has_report_)
      all.push_back("the summary and `trainlab report " + shell_word(report::shown_path(run_)) + "` are whole");
    if (lost_ == 0 && verified_ > 0)
      all.emplace_back(whole_.empty() ? "the weights are whole" : "the best weights, which predict, are whole");
    if (!whole_.empty()) all.push_back("init.weights and tensor.load can read " + joined(whole_));
    return all;
  }

  fs::path run_;
  std::vector<Error> damages_;
  std::vector<std::string> whole_;  // files of weights that can be used in place of damaged ones
  int verified_ = 0, lost_ = 0;     // models whose weights are whole, and are not
  bool has_report_ = false;
};

}  // namespace

void check_files(const fs::path& run) {
  Look look(run);
  look.files();
  look.tell();
}

}  // namespace trainlab::cli
