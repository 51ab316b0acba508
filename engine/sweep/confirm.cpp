#include "confirm.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/files.h"
#include "core/number_or_nil.h"
#include "core/words.h"
#include "plan/confirm_plan.h"
#include "run/budget.h"
#include "run/folder.h"
#include "study/ranking.h"
#include "study/scheduler.h"
#include "study/spread.h"
#include "study_summary.h"
#include "trials/trial_folder.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds look_for_fits{50};

fs::path folder_of(const StageContext& context) { return context.folder / "confirm"; }
// The trainings of the confirmation: written before the first of them, and read by the engines that help.
fs::path file_of(const StageContext& context) { return folder_of(context) / "fits.json"; }

// The bounds of a search. A search that goes on with other bounds than before may have other best trials at its end.
std::string bounds_of(const SweepPlan& plan, const StageContext& context) {
  const Value most_flops = finite_or_nil(context.most_flops);
  return to_json(Value::List{plan.terms().trials, plan.time_budget(), context.seconds_in_all, most_flops});
}

struct StoredFits {
  std::string bounds;  // of the search after which they were chosen
  std::vector<FreshFit> fits;
  double most_flops = std::numeric_limits<double>::infinity();  // see StageContext
};

// nullopt before anything was chosen. An inactive parameter is null in the file, and NaN in a point.
std::optional<StoredFits> stored_fits(const SweepPlan& plan, const StageContext& context) {
  const fs::path file = file_of(context);
  const Value stored = read_json(file);
  if (stored.is_nil()) return std::nullopt;
  std::vector<FreshFit> fits;
  try {
    for (const Value& one : stored["fits"].list()) {
      FreshFit fit{.trial = one["trial"].integer(), .seed = one["seed"].integer(), .point = {}};
      for (const Value& x : one["point"].list())
        fit.point.push_back(x.is_nil() ? std::numeric_limits<double>::quiet_NaN() : x.number());
      if (fit.point.size() != plan.terms().space.size()) throw damaged_file(file, "its points do not fit the space");
      fits.push_back(std::move(fit));
    }
  } catch (const std::logic_error&) {  // of Value
    throw damaged_file(file, "its trainings cannot be read");
  }
  StoredFits all{.bounds = stored["bounds"].is_string() ? stored["bounds"].string() : "", .fits = std::move(fits)};
  if (const Value& flops = stored["most_flops"]; flops.is_number()) all.most_flops = flops.number();
  return all;
}

void store(const StageContext& context, const std::string& bounds, const std::vector<FreshFit>& fits,
           double most_flops) {
  Value::List list;
  for (const FreshFit& fit : fits) {
    list.push_back(Value::Map{
        {"trial", fit.trial}, {"seed", fit.seed}, {"point", Value::List(fit.point.begin(), fit.point.end())}});
  }
  Value stored = Value::Map{{"bounds", bounds}, {"fits", std::move(list)}};
  if (std::isfinite(most_flops)) stored.set("most_flops", most_flops);
  make_directories(folder_of(context));
  write_atomic(file_of(context), to_json(stored) + "\n");
}

// The best trials, each point once.
std::vector<std::int64_t> best_trials(const SweepPlan& plan, const SharedStudy& study, std::int64_t top) {
  std::vector<std::int64_t> best;
  for (const std::size_t place : leaderboard(study.stored(), plan.objectives().front().maximize)) {
    if (std::ssize(best) == top) break;
    const std::vector<double>& point = study.stored()[place].point;
    const auto has_point = [&](std::int64_t other) { return same_point(study.stored(other).point, point); };
    if (std::ranges::none_of(best, has_point)) best.push_back(study.stored()[place].number);
  }
  return best;
}

// The choice of an earlier process stays, in its order: the numbers of the trials of the confirmation depend on that
// order. A search that has gone on since may have other best trials, which are added.
std::vector<FreshFit> choose(const SweepPlan& plan, const SharedStudy& study, const StageContext& context,
                             double most_flops) {
  std::vector<FreshFit> fits;
  if (std::optional<StoredFits> stored = stored_fits(plan, context)) fits = std::move(stored->fits);
  const SweepPlan::Confirm confirm = *plan.confirms();
  const std::vector<std::int64_t> best = best_trials(plan, study, confirm.top);
  for (std::int64_t seed = 1; seed <= confirm.seeds; ++seed) {
    for (const std::int64_t trial : best) {
      const auto is_this = [&](const FreshFit& fit) { return fit.trial == trial && fit.seed == seed; };
      if (std::ranges::none_of(fits, is_this))
        fits.push_back({.trial = trial, .seed = seed, .point = study.stored(trial).point});
    }
  }
  store(context, bounds_of(plan, context), fits, most_flops);
  return fits;
}

// A trial of the search with what is known of it.
struct Rated {
  std::int64_t trial = 0;
  std::vector<double> searched, fresh;  // values of single trainings
  std::int64_t failed = 0;              // fresh seeds without a value
  double judged = 0;                    // by all trainings that count
};

// The values of a trial's seeds in the search. With a scheduler none of them counts beside fresh ones: the search has
// trained most of the trials for a part of the fit, and a fresh training is whole.
std::vector<double> searched_values(const SharedStudy& search, std::int64_t trial) {
  std::vector<double> values;
  const Value& seeds = search.stored(trial).info["seed_values"];
  if (search.study().scheduler() || !seeds.is_list()) return values;
  for (const Value& one : seeds.list())
    if (one.is_number()) values.push_back(one.number());
  return values;
}

// Whether the training was shorter than the recipe says, because the budget ended it.
bool was_cut_short(const fs::path& folder, std::int64_t trial) {
  return is_cut_short(read_summary(TrialFolder(folder, trial).ended(1)));
}

std::vector<Rated> rated(const ConfirmPlan& plan, const SharedStudy& search, const SharedStudy& confirmed,
                         const fs::path& folder) {
  std::vector<Rated> all;
  const Trials& trials = confirmed.study().trials();
  for (std::int64_t t = 0; t < std::min<std::int64_t>(trials.size(), std::ssize(plan.fits())); ++t) {
    const std::int64_t number = plan.fits()[static_cast<std::size_t>(t)].trial;
    if (!is_final(trials.state(t)) || (trials.state(t) == TrialState::complete && was_cut_short(folder, t))) continue;
    auto found = std::ranges::find(all, number, &Rated::trial);
    if (found == all.end()) {
      all.push_back({.trial = number, .searched = searched_values(search, number), .fresh = {}});
      found = std::prev(all.end());
    }
    if (trials.state(t) == TrialState::complete) {
      found->fresh.push_back(trials.value(t));
    } else {
      ++found->failed;
    }
  }
  for (Rated& one : all) {
    std::vector<double> together = one.searched;
    together.insert(together.end(), one.fresh.begin(), one.fresh.end());
    one.judged = plan.terms().aggregate(together);
  }
  return all;
}

// The best by all trainings that count comes first: the search's value is one of several then. A trial that has failed
// on a fresh seed comes after all that have not.
void sort(std::vector<Rated>& all, bool maximize) {
  std::ranges::stable_sort(all, [&](const Rated& a, const Rated& b) {
    if (a.fresh.empty() != b.fresh.empty()) return b.fresh.empty();
    if ((a.failed > 0) != (b.failed > 0)) return b.failed > 0;
    return maximize ? a.judged > b.judged : a.judged < b.judged;
  });
}

void add_to(Value& summary, const StudyPlan& plan, const SharedStudy& search, const std::vector<Rated>& all) {
  Value::List confirmed;
  for (const Rated& one : all) {
    Value found = trial_value(plan, search, one.trial);
    found.set("observed", found["value"]);
    if (search.study().scheduler()) found.set("validations", search.study().segment(one.trial).until);
    found.set("value", one.fresh.empty() ? Value() : finite_or_nil(plan.terms().aggregate(one.fresh)));
    found.set("interval", finite_or_nil(spread(one.fresh).interval));
    if (confirmed.empty() && !one.fresh.empty()) summary.set("best", found);
    found.set("seed_values", Value::List(one.fresh.begin(), one.fresh.end()));
    found.set("failed", one.failed);
    confirmed.push_back(std::move(found));
  }
  summary.set("confirmed", std::move(confirmed));
}

// The model of a sweep is the one that the search has trained for its best trial.
void warn_of_part(const StageContext& context, const Study& search, const std::vector<Rated>& all) {
  const Scheduler* const scheduler = search.scheduler();
  if (!scheduler || all.empty() || all.front().fresh.empty()) return;
  const std::int64_t best = all.front().trial;
  const Segment segment = search.segment(best);
  if (!scheduler->is_partial(segment)) return;
  context.warn(context.name + ": trial " + std::to_string(best) +
               " is the best on fresh seeds, and the search has trained its model for no more than " +
               counted(segment.until, "validation") + ": for a whole model, train a fit with best.params");
}

StageContext context_of(const StageContext& stage, std::optional<double> seconds_before, double most_flops) {
  StageContext context = stage;
  context.name = "confirmation of " + stage.name;
  context.folder = folder_of(stage);
  context.seconds_before = seconds_before.value_or(0);
  context.most_flops = most_flops;
  return context;
}

}  // namespace

void confirm(const SweepPlan& plan, const Worker& search, const StageContext& context, Value& summary) {
  if (!plan.confirms() || !context.settings->study.empty()) return;
  // Nobody knows the FLOPs of tasks, which have no such budget.
  const bool is_bounded = std::isfinite(context.most_flops);
  const double most_flops =
      is_bounded ? context.most_flops - flops_of(search.study(), context.folder) : context.most_flops;
  std::vector<FreshFit> fits = choose(plan, search.study(), context, most_flops);
  if (fits.empty()) return;  // no trial is complete
  const TrialSeconds& of_trials = search.trial_seconds();
  const double of_training = std::max(of_trials.longest(), of_trials.whole) / static_cast<double>(plan.terms().repeats);
  const ConfirmPlan confirming(plan, std::move(fits), of_training);
  const StageContext of_fits = context_of(context, search.used_seconds(), most_flops);
  Worker worker(confirming, of_fits, search.speed(), search.clock());
  const bool is_interrupted = worker.run() == Worker::End::interrupted;
  std::vector<Rated> all = rated(confirming, search.study(), worker.study(), of_fits.folder);
  sort(all, plan.objectives().front().maximize);
  add_to(summary, plan, search.study(), all);
  if (!is_interrupted) warn_of_part(context, search.study().study(), all);
  summary.set("flops", flops_of(worker.study(), of_fits.folder));
  summary.set("speed", speed_of(worker.study(), of_fits.folder).sums());
  if (!is_interrupted && std::ranges::all_of(all, [](const Rated& one) { return one.fresh.empty(); }))
    context.warn(context.name + ": no training on a fresh seed gave a value, so that the best trial may look too good");
  if (const std::optional<double> seconds = worker.used_seconds()) summary.set("seconds", *seconds);
  if (is_interrupted) {
    summary.set("status", "interrupted");
    summary.set("reason", "asked to stop");
  } else if (worker.stopped() && summary["status"] == Value("done")) {
    summary.set("status", "stopped");
    summary.set("reason", *worker.stopped());
  }
}

void help_to_confirm(const SweepPlan& plan, const StageContext& context) {
  if (!plan.confirms()) return;
  std::optional<StoredFits> chosen = stored_fits(plan, context);
  // The choice of an earlier process may lack trainings.
  while (!chosen || chosen->bounds != bounds_of(plan, context)) {
    if (stop_requested() || !context.run_goes_on()) return;
    std::this_thread::sleep_for(look_for_fits);
    chosen = stored_fits(plan, context);
  }
  if (chosen->fits.empty()) return;
  const ConfirmPlan confirming(plan, std::move(chosen->fits), 0);
  const StageContext of_fits = context_of(context, std::nullopt, chosen->most_flops);
  SpeedTotal speed(nullptr, {});  // the engine that owns the stage tells of such trainings
  Worker(confirming, of_fits, speed, steady_seconds).run();
}

}  // namespace trainlab
