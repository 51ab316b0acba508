#include "study_report.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string_view>
#include <system_error>

#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "run/stage_files.h"
#include "study/place.h"
#include "study/ranking.h"

namespace trainlab::report {

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

std::vector<double> numbers_in(const Value& list) {
  std::vector<double> numbers;
  if (!list.is_list()) return numbers;
  for (const Value& one : list.list()) numbers.push_back(one.is_number() ? one.number() : unknown);
  return numbers;
}

// The objectives of a study that a recipe drives by itself have no names.
void name_objectives(Value& description) {
  Value::List all = description["objectives"].list();
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (all[k]["metric"].is_string()) continue;
    all[k].set("metric", all.size() == 1 ? "value" : "value " + std::to_string(k + 1));
  }
  description.set("objectives", std::move(all));
}

std::vector<Objective> objectives_in(const Value& description) {
  std::vector<Objective> all;
  for (const Value& one : description["objectives"].list()) {
    all.push_back({.metric = one["metric"].string(), .maximize = one["goal"] == Value("max")});
  }
  return all;
}

// The values of the first objective.
Curve curve_of(std::int64_t trial, const std::vector<StoredReport>& reports) {
  Trials one(0, 1);  // knows what holds of a trial that was begun again
  one.add(TrialState::running, {});
  for (const StoredReport& each : reports) {
    if (each.trial != trial) continue;
    TrialReport first = each.report;
    first.values.resize(1);
    one.report(0, first);
  }
  Curve curve{.trial = trial, .resources = {}, .values = {}};
  one.walk(0, [&](std::int64_t resource, std::span<const double> means) {
    curve.resources.push_back(resource);
    curve.values.push_back(means.front());
  });
  return curve;
}

void check(const StudyReport& study, const StudyPlace& place) {
  for (const StoredTrial& trial : study.trials) {
    const bool fits = trial.point.size() == study.space.size() &&
                      (trial.state != TrialState::complete || trial.values.size() == study.objectives.size());
    if (!fits) {
      throw run_error(place.text() + ": trial " + std::to_string(trial.number) +
                      " does not fit the study's space and objectives");
    }
  }
}

// A pruned trial counts as worse than all complete ones: for that it was given up.
std::vector<Importance> importances(const StudyReport& study) {
  std::vector<double> points;
  std::vector<std::vector<double>> losses(study.objectives.size());
  for (const StoredTrial& trial : study.trials) {
    const bool is_complete = trial.state == TrialState::complete;
    if (!is_complete && trial.state != TrialState::pruned) continue;
    points.insert(points.end(), trial.point.begin(), trial.point.end());
    for (std::size_t k = 0; k < losses.size(); ++k) {
      const double sign = study.objectives[k].maximize ? -1 : 1;
      losses[k].push_back(is_complete ? sign * trial.values[k] : std::numeric_limits<double>::max());
    }
  }
  std::vector<Importance> all;
  for (const auto& each : losses) all.push_back(importance(study.space, points, each));
  return all;
}

void read(StudyReader& reader, StudyReport& study, const StudyPlace& place, bool all) {
  study.description = reader.description();
  if (study.description.is_nil()) return;
  if (!study.description["objectives"].is_list() || study.description["objectives"].list().empty() ||
      !study.description["space"].is_list()) {
    throw run_error(place.text() + " holds no study that this trainlab knows");
  }
  name_objectives(study.description);
  study.objectives = objectives_in(study.description);
  study.space = Space::from_value(study.description["space"]);
  study.trials = reader.trials(all);
  check(study, place);
  study.seconds = reader.seconds();
  std::vector<bool> maximize;
  for (const Objective& one : study.objectives) maximize.push_back(one.maximize);
  study.best = study.has_front() ? pareto_front(study.trials, maximize) : leaderboard(study.trials, maximize.front());

  std::vector<std::int64_t> numbers;
  std::vector<Spread> spreads;
  for (std::size_t rank = 0; rank < study.shown(); ++rank) {
    StoredTrial& trial = study.trials[study.best[rank]];
    numbers.push_back(trial.number);
    if (!all) trial.info = reader.info(trial.number);
    spreads.push_back(spread(seed_values(trial)));
    study.seed_deviations.push_back(spreads.back().deviation);
  }
  for (StoredTrial& trial : study.trials) {
    if (trial.state == TrialState::failed && study.failed.size() < failures) {
      if (!all) trial.info = reader.info(trial.number);
      study.failed.push_back(static_cast<std::size_t>(&trial - study.trials.data()));
    }
  }
  study.seed_deviation = usual_deviation(spreads);
  const std::vector<StoredReport> reports = reader.reports(numbers);
  for (const std::int64_t number : numbers) {
    Curve curve = curve_of(number, reports);
    if (!curve.values.empty()) study.curves.push_back(std::move(curve));
  }
}

StudyReport read_from(const StudyPlace& place, bool all) {
  StudyReport study;
  place.read([&](StudyReader& reader) {
    study = StudyReport();
    read(reader, study, place, all);
  });
  study.importance = importances(study);
  return study;
}

}  // namespace

std::int64_t StudyReport::count(TrialState state) const {
  return std::count_if(trials.begin(), trials.end(), [&](const StoredTrial& trial) { return trial.state == state; });
}

std::int64_t StudyReport::compared() const {
  PointSet points;
  for (const StoredTrial& trial : trials) {
    const bool was_compared = trial.state == TrialState::complete || trial.state == TrialState::pruned;
    if (was_compared && !std::isnan(value_of(trial))) points.insert(trial.point);
  }
  return std::ssize(points);
}

// If all configurations were equally good, the best value would be that of the luckiest seeds.
std::optional<double> StudyReport::optimism() const {
  if (stage.kind != "sweep" || has_front() || is_confirmed() || best.empty()) return std::nullopt;
  const std::int64_t configurations = compared();
  if (configurations < 2) return std::nullopt;
  const Value& seeds = description["seeds"];
  const double count = seeds.is_number() ? std::max(seeds.number(), 1.0) : 1;
  return expected_maximum(configurations) / std::sqrt(count);
}

const StoredTrial& StudyReport::winner() const {
  if (is_confirmed()) {
    const auto named = std::ranges::find(trials, stage.summary["best"]["trial"].integer(), &StoredTrial::number);
    if (named != trials.end()) return *named;
  }
  return leader(0);
}

std::vector<double> StudyReport::winner_values() const {
  if (!is_confirmed()) return seed_values(leader(0));
  // The winner is the first of those that were confirmed.
  const Value& confirmed = stage.summary["confirmed"];
  if (!confirmed.is_list() || confirmed.list().empty()) return {};
  return numbers_in(confirmed.list().front()["seed_values"]);
}

StudyReport read_study_report(StageView stage, bool all) {
  StudyReport study;
  const StudyPlace place = StudyPlace::of_stage(stage.folder);
  if (place.exists()) {
    study = read_from(place, all);
  } else {
    check_study(stage.folder);
  }
  study.stage = std::move(stage);
  return study;
}

bool is_study_file(const std::filesystem::path& given) {
  std::error_code ignored;
  if (std::filesystem::is_directory(given, ignored)) return false;
  return given.extension() == ".db" || std::filesystem::exists(given, ignored);
}

StudyReport read_study_file(const std::filesystem::path& file, bool all) {
  const std::filesystem::path path = std::filesystem::absolute(file).lexically_normal();
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) throw usage_error("there is no file " + path.string());
  check_regular(path);
  constexpr std::string_view first = "SQLite format 3";
  std::string begin(first.size(), '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.read(begin.data(), std::ssize(begin));
  if (begin != first) {
    throw usage_error(path.string() + ": expected a run folder or a study's file, found a file that is no SQLite file")
        .hint("lab.study { file = \"NAME.db\" } makes such a file; the study of a sweep is RUN/study.db");
  }
  StudyReport study = read_from(StudyPlace(path), all);
  if (study.description.is_nil()) throw usage_error(path.string() + ": holds no study");
  study.stage = {.name = path.filename().string(), .kind = "study", .folder = path, .summary = {}};
  return study;
}

std::string worker_name(const StoredTrial& trial) {
  const auto process = trial.owner.rfind(':');
  return process == std::string::npos ? trial.owner : host_of(trial.owner) + trial.owner.substr(process);
}

std::vector<double> seed_values(const StoredTrial& trial) { return numbers_in(trial.info["seed_values"]); }

double value_of(const StoredTrial& trial) { return trial.values.empty() ? unknown : trial.values.front(); }

}  // namespace trainlab::report
