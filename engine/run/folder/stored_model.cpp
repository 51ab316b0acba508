#include "run/stored_model.h"

#include <algorithm>

#include "core/error.h"
#include "core/words.h"
#include "run/folder.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

// trials/0007/seed-2 of a sweep or an ensemble (see TrialFolder in engine/sweep).
fs::path folder_of_trial(const fs::path& stage_folder, std::int64_t trial, std::int64_t repeat) {
  const std::string number = std::to_string(trial);
  return stage_folder / "trials" / (std::string(number.size() < 4 ? 4 - number.size() : 0, '0') + number) /
         ("seed-" + std::to_string(repeat));
}

// The repeat, from 1, with the best value; of equal ones the first.
std::int64_t best_repeat(const Value& values, bool maximize) {
  if (!values.is_list()) return 1;  // the trial has a single one
  std::size_t best = 0;
  for (std::size_t i = 1; i < values.list().size(); ++i) {
    const Value &one = values.list()[i], &other = values.list()[best];
    if (!one.is_number()) continue;
    if (!other.is_number() || (maximize ? one.number() > other.number() : one.number() < other.number())) best = i;
  }
  return static_cast<std::int64_t>(best) + 1;
}

std::vector<StoredModel> best_of_sweep(const fs::path& folder, const Value& summary) {
  const Value& best = summary["best"];
  if (best.is_map()) {
    const std::int64_t repeat = best_repeat(best["seed_values"], summary["goal"] == Value("max"));
    return {{.folder = folder_of_trial(folder, best["trial"].integer(), repeat)}};
  }
  if (summary["pareto"].is_list() && !summary["pareto"].list().empty()) {
    const std::int64_t first = summary["pareto"].list().front()["trial"].integer();
    throw usage_error("the sweep in " + folder.string() + " has several metrics, and so no single best trial")
        .hint("name the folder of a trial in place of the run's: " + folder_of_trial(folder, first, 1).string());
  }
  throw usage_error("the sweep in " + folder.string() + " has no complete trial, and so no best model");
}

std::vector<StoredModel> members_of_ensemble(const fs::path& folder, const Value& summary) {
  std::vector<StoredModel> members;
  if (summary["members"].is_list()) {
    for (const Value& member : summary["members"].list()) {
      // Ensembles of earlier versions do not say where a member lies, which one of seeds has trained itself.
      const fs::path own = member["folder"].is_string() ? folder / member["folder"].string()
                                                        : folder_of_trial(folder, member["trial"].integer(), 1);
      const fs::path place = own.lexically_normal();
      const auto known = std::ranges::find(members, place, &StoredModel::folder);
      if (known == members.end()) {
        members.push_back({.folder = place});
      } else {
        ++known->weight;
      }
    }
  }
  if (members.empty()) throw usage_error("the ensemble in " + folder.string() + " has no members yet");
  return members;
}

}  // namespace

std::vector<StoredModel> models_behind(const fs::path& stage_folder) {
  const Value summary = read_summary(stage_folder);
  const Value& kind = summary["kind"];
  try {
    if (kind == Value("sweep")) return best_of_sweep(stage_folder, summary);
    if (kind == Value("ensemble")) return members_of_ensemble(stage_folder, summary);
  } catch (const std::logic_error&) {  // of Value
    throw damaged_file(stage_folder / "summary.json", "its best trial or its members cannot be read");
  }
  if (kind.is_string() && kind.string() != "fit") {
    throw usage_error(with_article(kind.string()) +
                      " keeps no model: only a fit, a sweep and an ensemble of fits have one");
  }
  return {{.folder = stage_folder}};
}

}  // namespace trainlab
