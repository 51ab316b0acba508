#include "damage.h"

#include <string>
#include <vector>

#include "core/error.h"
#include "core/words.h"
#include "report/texts.h"
#include "run/commit.h"
#include "run/folder.h"
#include "run/shell_word.h"
#include "run/stored_model.h"

namespace trainlab::cli {

namespace fs = std::filesystem;

namespace {

// A stage that keeps no model, as a task or a study without a complete trial, has nothing to check.
std::vector<StoredModel> kept_models(const fs::path& stage) {
  try {
    return models_behind(stage);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    return {};
  }
}

struct Found {
  std::vector<std::string> damages;
  std::vector<std::string> whole;  // files of weights that can be used in place of damaged ones
  int verified = 0;                // models whose weights are whole
};

void check_weights(const fs::path& model, Found& found) {
  const fs::path folder = model / "checkpoints";
  const std::vector<fs::path> all = commits(folder);
  if (all.empty()) {
    if (fs::exists(model / "model.json")) found.damages.push_back("there are no weights in " + folder.string());
    return;
  }
  try {
    read_json(model / "model.json");
    verified_commit(folder, all.front(), /*with_best=*/true);
    ++found.verified;
    return;
  } catch (const Error& error) {
    found.damages.push_back(error.message());
  }
  for (const fs::path& path : all) {
    try {
      const Commit commit = verified_commit(folder, path, /*with_best=*/false);
      found.whole.push_back(report::shown_path(folder / commit.info["file"].string()));
    } catch (const Error&) {
      // An older one may be whole.
    }
  }
}

}  // namespace

void check_finished(const fs::path& run) {
  Found found;
  try {
    report::report_text(run);
  } catch (const Error& error) {
    found.damages.push_back(error.message());
  }
  const bool has_report = found.damages.empty();
  const std::size_t before = found.damages.size();
  for (const StageRecord& stage : read_stages(run)) {
    try {
      for (const StoredModel& model : kept_models((run / stage.folder).lexically_normal()))
        check_weights(model.folder, found);
    } catch (const Error& error) {
      found.damages.push_back(error.message());
    }
  }
  if (found.damages.empty()) return;
  std::string usable;
  if (has_report) usable = "the summary and `trainlab report " + shell_word(report::shown_path(run)) + "` are whole";
  if (found.damages.size() == before && found.verified > 0) usable = "the weights are whole";
  if (!found.whole.empty()) {
    usable +=
        (usable.empty() ? "" : "; ") + std::string("init.weights and tensor.load can read ") + joined(found.whole);
  }
  throw run_error("the run in " + run.string() + " is finished, but damaged: " + joined(found.damages, "; "))
      .hint((usable.empty() ? "" : usable + "; ") + "a new run trains what is lost again");
}

}  // namespace trainlab::cli
