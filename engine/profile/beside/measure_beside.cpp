#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "profile/beside.h"
#include "profile/layers.h"
#include "run/run.h"
#include "run/scratch_folder.h"
#include "stage_profile.h"
#include "steps/in_turns.h"
#include "steps/repeat.h"
#include "steps/thread_load.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

constexpr int least_rounds = 4, most_rounds = 15;  // 8 to 30 pairs
constexpr int layer_rounds = 3;                    // six pairs, just enough for a 95 % interval of the median
constexpr std::int64_t least_layer_steps = 5, most_layer_steps = 30;  // timed steps of one table of layers
constexpr double least_run_seconds = 0.1;

// The seconds of each part of a step, or of each of its layers, with the name of the part or layer.
using Seconds = std::vector<std::pair<std::string, double>>;

class Side {
 public:
  Side(const StageBeside& given, const ProfileOptions& options) : given_(given), options_(options) {
    if (given.stage.entry().name != "task") named([&] { plan_ = plan_fit(given.stage, given.settings); });
  }

  bool is_on_cpu() const { return parse_device(given_.settings.device).is_cpu(); }

  Profile profile(double seconds) {
    const Measured how{.stage = given_.stage,
                       .settings = given_.settings,
                       .say = options_.say ? options_.say : [](const std::string&) {},
                       .ran = given_.ran};
    const StepLimits limits{.seconds = seconds, .precision = 0, .counted = 0};
    Profile profile;
    named([&] { profile = short_profile(plan_ ? &*plan_ : nullptr, how, limits); });
    return profile;
  }

  // Measures the layers in `steps` steps of each use (LayerSteps), in about these seconds.
  Seconds layers(std::int64_t steps, double longest) {
    Seconds seconds;
    named([&] {
      prepare_arithmetic(given_.settings.threads);
      const LayerSteps measured{.first = cold_steps_of(plan_ ? plan_->length.total_steps : 0, 2),
                                .count = steps,
                                .seconds = longest,
                                .longest = 2 * longest};
      const LayerTable table =
          plan_ ? measure_layers(*plan_, measured) : measure_task_layers(given_.stage, given_.settings, measured);
      for (const LayerCost& row : table.rows) seconds.emplace_back(row.path, row.seconds());
      if (cut_short_.empty() && !table.cut_short.empty()) cut_short_ = given_.recipe + ": " + table.cut_short;
    });
    return seconds;
  }

  // Why a table of layers has fewer steps than were asked for; empty: each has them.
  const std::string& cut_short() const { return cut_short_; }

  StagesBeside::Side described(std::vector<double> steps, double samples) const {
    return {.recipe = given_.recipe,
            .note = given_.note,
            .stage = given_.stage.string("name"),
            .kind = given_.stage.entry().name,
            .step = median_interval(std::move(steps)),
            .samples = samples};
  }

 private:
  // Does the work. An error that names no place in a recipe is raised again with the recipe's name before its text.
  void named(const std::function<void()>& work) const {
    try {
      with_torch_errors(work);
    } catch (const Error& error) {
      if (!error.file().empty() || error.kind() == ErrorKind::interrupted) throw;
      const std::string note = given_.note.empty() ? "" : " (" + given_.note + ")";
      throw Error(error.kind(), given_.recipe + note + ": " + error.headline()).hint(error.hint());
    }
  }

  const StageBeside& given_;
  const ProfileOptions& options_;
  std::optional<FitPlan> plan_;
  std::string cut_short_;
};

Seconds seconds_of(const Profile& profile) {
  Seconds all;
  for (const auto& [name, share] : listed(shares_of(profile))) {
    if (share) all.emplace_back(std::string(name), *share * profile.wall());
  }
  return all;
}

// Collects, for each name, the seconds that both stages took and their differences within the pairs.
class Differences {
 public:
  // `samples`: those of A's step over those of B's, where the two differ.
  explicit Differences(std::optional<double> samples) : samples_(samples) {}

  void add(const Seconds& a, const Seconds& b) {
    for (const auto& [name, seconds] : a) row(name).a.push_back(seconds);
    for (const auto& [name, seconds] : b) {
      Row& one = row(name);
      one.b.push_back(seconds);
      if (one.a.size() != one.b.size()) continue;
      one.difference.push_back(seconds - one.a.back());
      if (samples_) one.for_samples.push_back(*samples_ * seconds - one.a.back());
    }
  }

  // The parts in the order in which their names came.
  std::vector<PartBeside> parts() const {
    std::vector<PartBeside> all;
    all.reserve(rows_.size());
    for (const Row& one : rows_) {
      PartBeside part{.name = one.name};
      if (!one.a.empty()) part.a = median_interval(one.a).median;
      if (!one.b.empty()) part.b = median_interval(one.b).median;
      if (!one.difference.empty()) part.difference = median_interval(one.difference);
      if (!one.for_samples.empty()) part.for_samples = median_interval(one.for_samples);
      all.push_back(std::move(part));
    }
    return all;
  }

 private:
  struct Row {
    std::string name;
    std::vector<double> a = {}, b = {}, difference = {}, for_samples = {};
  };

  Row& row(const std::string& name) {
    const auto [found, is_new] = places_.try_emplace(name, rows_.size());
    if (is_new) rows_.push_back({.name = name});
    return rows_[found->second];
  }

  const std::optional<double> samples_;
  std::vector<Row> rows_;
  std::map<std::string, std::size_t> places_;
};

// `begin`: seconds from the beginnings of both runs to their first steps.
void measure_layers_beside(StagesBeside& result, Side& a, Side& b, double begin, const ProfileOptions& options) {
  const auto miss = [&](const std::string& why) { result.missing.push_back("layers: " + why); };
  constexpr const char* stopped = "asked to stop before they were measured";
  if (stop_requested()) return miss(stopped);
  if (!a.is_on_cpu() || !b.is_on_cpu()) return miss("they are measured on the CPU");
  const double both = result.a.step.median + result.b.step.median;
  const double seconds = options.seconds / (2 * layer_rounds) - begin;
  const auto steps = static_cast<std::int64_t>(std::max(seconds, 0.0) / both / uses_of_steps);
  if (steps < least_layer_steps)
    return miss("a step, or what comes before the first step, takes too long for --seconds");
  const std::int64_t count = std::min(steps, most_layer_steps);
  Differences differences(samples_of_a_over_b(result.a.samples, result.b.samples));
  const double each = options.seconds / (4 * layer_rounds);
  try {
    in_turns(
        layer_rounds, [&] { return a.layers(count, each); }, [&] { return b.layers(count, each); },
        [&](const Seconds& of_a, const Seconds& of_b) { differences.add(of_a, of_b); });
    result.layers = differences.parts();
    for (const Side* side : {&a, &b})
      if (!side->cut_short().empty()) result.missing.push_back("more steps of the layers: " + side->cut_short());
  } catch (const Error& error) {
    miss(stop_requested() ? stopped : error.headline());
  }
}

double step_of(const StepFigures& steps) { return steps.step.median + steps.callbacks + steps.between; }

double run_seconds(int rounds, double seconds) { return std::max(least_run_seconds, seconds / (4 * rounds)); }

// How many times A B B A is run within the seconds. More rounds average out more of the other work on the machine, but
// each of the runs must be long enough for its cold steps and for steps to time.
int rounds_for(double step, double seconds) {
  const int rounds =
      static_cast<int>(std::clamp(seconds / (4 * short_run_seconds(step)), double(least_rounds), double(most_rounds)));
  const double each = run_seconds(rounds, seconds);
  if (4 * step <= each) return rounds;
  throw usage_error(fmt::format("a step takes {:.2g} s, and --seconds {:g} leave {:.2g} s for each of {} short runs",
                                step, seconds, each, 4 * rounds))
      .hint(fmt::format("--seconds {:.0f}", std::ceil(5 * 4 * rounds * step)));
}

}  // namespace

StagesBeside measure_beside(const StageBeside& given_a, const StageBeside& given_b, const ProfileOptions& options) {
  ScratchFolder::remove_abandoned();
  Side a(given_a, options), b(given_b, options);
  double seconds = least_run_seconds;
  const auto measured = [&](Side& side) {
    Profile profile = side.profile(seconds);
    if (stop_requested()) throw Error(ErrorKind::interrupted, "asked to stop while the stages were measured");
    return profile;
  };
  const Profile first_a = measured(a), first_b = measured(b);
  const double step = std::max(step_of(first_a.steps), step_of(first_b.steps));
  const int rounds = rounds_for(step, options.seconds);
  seconds = run_seconds(rounds, options.seconds);
  std::vector<double> steps_a, steps_b, ratios;
  const double samples_a = first_a.samples, samples_b = first_b.samples;
  Differences differences(samples_of_a_over_b(samples_a, samples_b));
  Profile all = first_a;  // whose threads are those of all pairs
  all.steps.thread = {};
  try {
    in_turns(
        rounds, [&] { return measured(a); }, [&] { return measured(b); },
        [&](const Profile& of_a, const Profile& of_b) {
          steps_a.push_back(of_a.wall());
          steps_b.push_back(of_b.wall());
          ratios.push_back(of_b.wall() / of_a.wall());
          differences.add(seconds_of(of_a), seconds_of(of_b));
          add(all.steps.thread, of_a.steps.thread);
          add(all.steps.thread, of_b.steps.thread);
        });
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted || ratios.size() < least_for_interval) throw;
  }
  StagesBeside result{.a = a.described(std::move(steps_a), samples_a),
                      .b = b.described(std::move(steps_b), samples_b),
                      .pairs = ratios.size(),
                      .ratio = median_interval(std::move(ratios)),
                      .parts = differences.parts(),
                      .cores = cores_value(all, measures_of(all))};
  measure_layers_beside(result, a, b, first_a.steps.begin_seconds + first_b.steps.begin_seconds, options);
  prepare_arithmetic(given_a.settings.threads);
  return result;
}

}  // namespace trainlab
