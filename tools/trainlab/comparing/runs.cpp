// `trainlab compare RUN_A RUN_B`: compares runs that have ended, paired by seed. The number of pairs was not planned,
// so the limits that hold for any number are used.
#include <algorithm>
#include <charconv>
#include <map>

#include "cli/ending.h"
#include "cli/requests.h"
#include "comparing/facts.h"
#include "comparing/question.h"
#include "comparing/training_runs.h"
#include "core/error.h"
#include "report/texts.h"
#include "run/folder.h"
#include "run/manifest.h"

namespace trainlab::cli {

namespace fs = std::filesystem;
using report::shown_path;

namespace {

constexpr std::size_t fewest = 3;  // fewest pairs that can be compared

// The trainings of one recipe that have ended.
struct Trainings {
  std::map<std::int64_t, fs::path> by_seed;  // folders of stages; an ensemble's members count from 1
  fs::path run;                              // one of the runs, for its recipe and settings
  bool is_ensemble = false;
};

bool is_run(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(manifest_path(folder), ignored);
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  return folders;
}

void add_fit(Trainings& all, const fs::path& run) {
  const StageRecord stage = find_stage(run, std::nullopt);
  if (stage.kind != "fit") {
    throw usage_error("expected runs of a fit, found the " + stage.kind + " in " + shown_path(run));
  }
  const Manifest manifest = read_manifest(run);
  if (!all.run.empty()) {
    const Manifest first = read_manifest(all.run);
    if (first.recipe_hash() != manifest.recipe_hash() || first.parameters != manifest.parameters ||
        first.setting("set") != manifest.setting("set")) {
      throw usage_error(shown_path(all.run) + " and " + shown_path(run) +
                        " are runs of different recipes or parameters")
          .hint("put the runs of each recipe into a folder of their own");
    }
  } else {
    all.run = run;
  }
  const std::int64_t seed = manifest.setting("seed").integer();
  const auto [other, is_new] = all.by_seed.emplace(seed, stage.folder);
  if (!is_new) {
    throw usage_error(shown_path(other->second) + " and " + shown_path(run) + " have the same seed, " +
                      std::to_string(seed))
        .hint("each training of a comparison has a seed of its own: --seed N");
  }
}

// Adds all members, including those that the ensemble has not kept, because the best of many members are not typical of
// a recipe.
void add_members(Trainings& all, const fs::path& run, const fs::path& stage) {
  all.run = run;
  all.is_ensemble = true;
  std::error_code ignored;
  if (!fs::exists(stage / "trials", ignored)) {
    throw usage_error("the ensemble in " + shown_path(run) + " has trained no members");
  }
  for (const fs::path& trial : folders_in(stage / "trials")) {
    const std::string name = trial.filename().string();
    std::int64_t number = 0;
    const auto [rest, code] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (code != std::errc() || rest != name.data() + name.size()) continue;  // not the folder of a trial
    if (fs::exists(trial / "seed-1", ignored)) all.by_seed.emplace(number + 1, trial / "seed-1");
  }
}

Trainings trainings_of(const std::string& given) {
  const fs::path folder = absolute_path(given);
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) throw usage_error("there is no folder " + given);
  Trainings all;
  if (is_run(folder)) {
    const StageRecord stage = find_stage(folder, std::nullopt);
    if (stage.kind == "ensemble") {
      add_members(all, folder, stage.folder);
    } else {
      add_fit(all, folder);
    }
    return all;
  }
  for (const fs::path& below : folders_in(folder)) {
    if (is_run(below)) add_fit(all, below);
  }
  if (all.by_seed.empty()) {
    throw usage_error("there are no runs in " + given).hint("`trainlab list` shows the runs below this folder");
  }
  return all;
}

// The facts from the summary of an ensemble. The engine cannot be asked, because the recipe makes fits only when it
// trains.
Value facts_of_ensemble(const Trainings& trainings, const std::string& metric) {
  const Value summary = read_summary(find_stage(trainings.run, std::nullopt).folder);
  if (summary["metric"] != Value(metric)) {
    throw usage_error("the ensemble in " + shown_path(trainings.run) + " is compared by the metric that it names, " +
                      summary["metric"].brief() + ", found " + metric);
  }
  return Value::Map{{"minimize", summary["goal"] == Value("min")}};
}

void warn_of_differences(const Arguments& given, const Trainings& a, const Trainings& b) {
  const Manifest of_a = read_manifest(a.run), of_b = read_manifest(b.run);
  for (const char* name : {"device", "threads"}) {
    const Value &in_a = of_a.setting(name), &in_b = of_b.setting(name);
    if (in_a != in_b) say(given, std::string(name) + " differ: " + to_json(in_a) + " in A, " + to_json(in_b) + " in B");
  }
  if (a.is_ensemble || b.is_ensemble) {
    say(given,
        "members of an ensemble that were trained side by side have slowed each other down: trust their times "
        "where both were trained alike");
  }
}

}  // namespace

int compare_runs(const Arguments& given, Question question) {
  const Trainings a = trainings_of(given.words.front()), b = trainings_of(given.words.back());
  std::vector<std::int64_t> seeds;
  for (const auto& [seed, folder] : a.by_seed) {
    if (b.by_seed.contains(seed)) seeds.push_back(seed);
  }
  if (seeds.size() < fewest) {
    throw usage_error("expected at least 3 seeds with which both were trained, found " + std::to_string(seeds.size()))
        .hint("one training says nothing of a recipe; trainlab compare A.lua B.lua trains pairs");
  }
  if (seeds.size() < std::max(a.by_seed.size(), b.by_seed.size())) {
    say(given, "trainings whose seed the other side lacks are left out; " + std::to_string(seeds.size()) + " pairs");
  }

  if (a.is_ensemble != b.is_ensemble) throw usage_error("an ensemble is compared with an ensemble, not with fits");
  Value facts_of_a, facts_of_b;
  if (a.is_ensemble) {
    facts_of_a = facts_of_ensemble(a, question.target.metric);
    facts_of_b = facts_of_ensemble(b, question.target.metric);
  } else {
    for (auto [side, facts] : {std::pair{&a, &facts_of_a}, std::pair{&b, &facts_of_b}}) {
      Arguments plain = given;
      plain.flags.map().erase("target");
      plain.flags.map().erase("not-worse");
      const Answer answer =
          ask_about(request_for_run(plain, side->run, read_manifest(side->run)), question.target.metric);
      if (answer.facts.is_nil()) return tell(answer.outcome, given.has("json"), "comparison");
      *facts = answer.facts;
    }
  }
  settle_target(given, question, facts_of_a, facts_of_b);
  warn_of_differences(given, a, b);

  Comparison comparison{.pairs = {},
                        .looks = compare::Looks::any_time(),
                        .folder = {},
                        .a = shown_path(absolute_path(given.words.front())),
                        .b = shown_path(absolute_path(given.words.back()))};
  for (const std::int64_t seed : seeds) {
    comparison.pairs.push_back(read_pair(seed, a.by_seed.at(seed), b.by_seed.at(seed), question.target));
  }
  check_target(comparison.pairs, question.target);
  print(given.has("json") ? to_json(comparison_value(comparison, question), 2) + "\n"
                          : comparison_text(comparison, question));
  return 0;
}

}  // namespace trainlab::cli
