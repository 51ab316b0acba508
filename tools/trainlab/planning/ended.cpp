#include "planning/ended.h"

#include <algorithm>
#include <string>

#include "core/error.h"
#include "planning/topic.h"
#include "report/texts.h"
#include "trainings/seeded_runs.h"

namespace trainlab::cli {

namespace fs = std::filesystem;

namespace {

// The folders in this one, in the order of their names.
std::vector<std::string> folders_below(const fs::path& folder) {
  std::vector<std::string> all;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) all.push_back(entry.path().string());
  }
  std::ranges::sort(all);
  return all;
}

}  // namespace

bool is_plan_folder(const fs::path& folder) { return asked_in(folder)["asked"]["topic"].is_string(); }

int report_plan(const Arguments& given) {
  const fs::path folder = given.words.front();
  const Value record = asked_in(folder);
  if (record["has_ended"] != Value(true)) {
    throw usage_error("the plan in " + report::shown_path(folder) + " has not ended")
        .hint("the command that has begun it goes on with it");
  }
  if (given.has("csv")) throw usage_error("--csv: a plan is no table").hint("--json, or --csv of one of its runs");
  Arguments trainings = given;
  if (record["asked"]["topic"] == Value("seeds")) return seeds_topic().run(trainings);
  trainings.words = folders_below(folder);
  return fit_topic().run(trainings);
}

}  // namespace trainlab::cli
