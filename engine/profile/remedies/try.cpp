// Remedies measured beside the unchanged fit.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "core/clock.h"
#include "facts.h"
#include "profile/remedies.h"
#include "run/run.h"
#include "side.h"
#include "steps/in_turns.h"
#include "tensor/free_memory.h"
#include "tensor/types.h"
#include "trial_time.h"

namespace trainlab {

namespace {

// Rounds of A B B A: six ratios, the fewest that have a 95 % interval of their median. It leaves out 1 where all of
// them lie on one side, and more of them could not change that.
constexpr std::int64_t rounds = 3, runs_of_round = 4, pairs_of_round = 2;
constexpr std::int64_t runs = runs_of_round * rounds;
constexpr std::int64_t most_rounds = 10;  // of the changes that are joined, whose gain is promised
constexpr double lost = 0.9;              // a change that is slower than this in all pairs of two rounds needs no third
constexpr double least_seconds = 0.1, most_seconds = 0.3;  // of a short run
constexpr double least_steps = 3;                          // of a short run whose steps are slow: one of them is cold
// Part of a step's time up to which validations and checkpoints need not be measured with each change.
constexpr double small_part = 0.02;

// Whether the interval of a gain reaches farther than a fifth of the gain.
bool is_vague_gain(const MedianInterval& ratio) {
  constexpr double part = 0.2;
  const double gain = ratio.median - 1;
  return ratio.median >= least_gain && std::max(ratio.high - ratio.median, ratio.median - ratio.low) > part * gain;
}

RunLimits run_limits(const Profile& profile, const StepVerdict& verdict, double seconds) {
  RunLimits limits{.steps = {.seconds = seconds, .precision = 0, .counted = 0}};
  const auto waits_for = [&](Bottleneck one) { return verdict.bottleneck == one || verdict.otherwise == one; };
  limits.measures_all = waits_for(Bottleneck::evaluation) || waits_for(Bottleneck::checkpoint);
  const double apart =
      profile.validation.per_step() + functions_at_validations(profile).per_step() + profile.checkpoint.per_step();
  if (!limits.measures_all && apart <= small_part * profile.wall()) limits.known = profile.steps;
  return limits;
}

// The seconds in which a change is tried with which `fits` train together, by the figures of one fit: short runs with
// and without the change, each of which begins the stage anew, and the steps whose weights are compared.
double expected_seconds(const Profile& profile, const RunLimits& limits, std::int64_t fits = 1) {
  constexpr double measured = 3;  // validations and checkpoints, in steps of their own
  const double begin = profile.steps.begin_seconds;
  const double checkpoint = static_cast<double>(fits) * profile.checkpoint.seconds.value_or(0);
  const double validation = profile.validation.seconds.value_or(0) + profile.steps.validation_functions;
  const double apart = begin + measured * (static_cast<double>(fits) * validation + checkpoint);
  const double times = limits.measures_all ? runs_of_round : limits.known && fits == 1 ? 0 : 1;
  return runs_of_round * (begin + limits.steps.seconds) + times * apart + begin + compared_steps * profile.steps.mean +
         checkpoint;
}

// A remedy with the ratios of speeds that were measured until now.
struct Trial {
  Remedy* remedy;
  double expected = 0;  // seconds of the first round
  std::vector<double> ratios = {};

  bool has_lost() const {
    return ratios.size() >= 4 && std::ranges::all_of(ratios, [](double one) { return one < lost; });
  }
  bool may_be_applied() const { return remedy->keeps_result() && !remedy->set.empty() && remedy->ratio.median >= lost; }
};

class Trials {
 public:
  Trials(const Options& training, const RunSettings& settings, const WithSet& with_set, const ProfileOptions& options)
      : training_(training),
        settings_(settings),
        with_set_(with_set),
        options_(options),
        say_(options.say ? options.say : [](const std::string&) {}) {}

  std::vector<Remedy> suggest(const Profile& profile, const StepVerdict& verdict, const StageOfTraining& stage) {
    if (profile.kind == "fit") fit_.emplace(variant_of(training_, settings_, profile.shared_data()));
    FitFacts facts = fit_ ? facts_of(profile, fit_->plan, stage, settings_.threads) : FitFacts{.is_task = true};
    facts.threads = settings_.threads;
    facts.own_threads_compete = verdict.own_threads_compete;
    facts.loader_needs = stage.loader_needs;
    facts.is_synchronous = profile.is_synchronous;
    facts.cores = std::max(1, static_cast<int>(profile.cores) / stage.workers);
    path_ = stage.path;
    functions_take_time_ = facts.functions_at_validations;
    sample_seconds_ = stage.sample_seconds;
    std::vector<Remedy> remedies = remedies_for(verdict.bottleneck, facts);
    if (verdict.bottleneck == Bottleneck::contention)
      remedies = in_turn(remedies_for(verdict.otherwise, facts), std::move(remedies));
    for (Remedy& one : remedies) {
      if (!one.is_tried()) continue;
      const bool is_threads = !one.set.empty() && threads_of(one.set.front());
      if (!is_threads) add_path(stage, one);
      if (is_threads && !stage.is_first)
        one.reason = "--threads is of all stages of a run, and those before this one were not profiled";
      if (stage.together > 1) {
        one.reason =
            fmt::format("the stage does {} trainings together, and one by itself was profiled", stage.together);
      }
    }
    return remedies;
  }

  // Each change has a first round before any has more of them, because a rough ratio of each says more than a precise
  // one of the first.
  void try_all(TriedRemedies& tried, const Profile& profile, RunLimits limits) {
    TrialTime time(options_);
    std::vector<Trial> trials = begin(tried);
    if (functions_take_time_) limits.validation_functions = profile.steps.validation_functions;
    for (Trial& one : trials) one.expected = expected(*one.remedy, profile, limits_of(*one.remedy, limits));
    // Stacks and packed files come last: they take a multiple of the time, and are no options that could be applied.
    std::ranges::stable_partition(trials, [](const Trial& one) { return !one.remedy->set.empty(); });
    // The short runs are longer under a longer limit.
    const double longer =
        static_cast<double>(runs_of_round * trials.size()) * std::max(0.0, most_seconds - limits.steps.seconds);
    const double of_base = expected_seconds(profile, limits);
    if (!time.has(trials.front().expected)) {
      tried.had_no_time = true;
      return say_lack(tried, trials, time.enough(of_base + seconds_of(trials), longer));
    }
    const std::unique_ptr<Side> base = side({}, limits);
    const TrainedSteps without = base->trained();
    std::vector<Trial> missing, begun;
    for (Trial& one : trials) {
      // For the first one there was time before the unchanged training took some of it.
      if (!time.has(&one == &trials.front() ? 0 : one.expected)) {
        missing.push_back(std::move(one));
        continue;
      }
      const double before = steady_seconds();
      try_first(one, *base, without, limits, time);
      if (!one.remedy->is_tried()) continue;
      time.took(steady_seconds() - before, one.expected);
      begun.push_back(std::move(one));
    }
    tried.had_no_time = missing.size() == trials.size();
    if (!missing.empty()) say_lack(tried, missing, time.enough(seconds_of(missing), longer));
    std::ranges::stable_sort(begun, std::greater(), [](const Trial& one) { return one.remedy->ratio.median; });
    const auto rest = std::ranges::stable_partition(begun, [](const Trial& one) { return one.may_be_applied(); });
    for (Trial& one : std::span(begun.begin(), rest.begin())) try_further(one, *base, limits, time);
    tried.joined = join(tried.all, without.weights, limits, rounds * of_base, time);
    for (Trial& one : rest) try_further(one, *base, limits, time);
    prepare_arithmetic(settings_.threads);
  }

  // The remedies for a fit that memory does not hold.
  void try_to_fit(TriedRemedies& tried, const StageOfTraining& stage) const {
    tried.all = remedies_for(Bottleneck::capacity, {});
    for (Remedy& one : tried.all) add_path(stage, one);
    std::vector<Trial> trials = begin(tried), missing;
    const TrialTime time(options_);
    double longest = 0;
    for (Trial& trial : trials) {
      if (!time.has(longest)) {
        missing.push_back(std::move(trial));
        continue;
      }
      const double before = steady_seconds();
      Remedy& one = *trial.remedy;
      one.reason = reason_against([&] {
        const std::unique_ptr<Side> side = side_of_fit(variant_of(with_set_(one.set), settings_, nullptr), say_, {});
        const std::int64_t peak = side->trained().peak.value_or(0);
        one.result = "not compared: the training fits" +
                     (peak > 0 ? ", with " + memory_text(peak) + " in its first steps" : "") +
                     ", and does not without the change";
      });
      longest = std::max(longest, steady_seconds() - before);
    }
    tried.had_no_time = missing.size() == trials.size();
    if (!missing.empty()) say_lack(tried, missing, time.enough(longest * static_cast<double>(missing.size()), 0));
    // With another batch the weights are others; with all other options they keep their bits.
    const auto keeps = std::ranges::find_if(tried.all, [&](const Remedy& one) {
      return one.is_tried() && !one.set.front().starts_with(stage.path + "batch=");
    });
    if (keeps != tried.all.end()) tried.joined.set = keeps->set;
  }

 private:
  // The remedies that can be tried. Each has a reason until that is done, which holds if it is never done.
  static std::vector<Trial> begin(TriedRemedies& tried) {
    std::vector<Trial> trials;
    for (Remedy& one : tried.all) {
      if (!one.is_tried()) continue;
      one.reason = "the trials ended before its turn";
      trials.push_back({.remedy = &one});
    }
    return trials;
  }

  static double seconds_of(const std::vector<Trial>& trials) {
    double sum = 0;
    for (const Trial& one : trials) sum += one.expected;
    return sum;
  }

  // Says of the changes that are missing with how many seconds all would be tried.
  static void say_lack(TriedRemedies& tried, std::span<Trial> missing, double enough) {
    tried.enough_seconds = enough;
    for (Trial& one : missing) one.remedy->reason = fmt::format("no time left (--seconds {:.0f} tries all)", enough);
  }

  static void add_path(const StageOfTraining& stage, Remedy& remedy) {
    for (std::string& one : remedy.set) one = stage.path + one;
  }

  // Does the work, and returns the error that it raises; empty: none.
  template <class Work>
  static std::string reason_against(const Work& work) {
    try {
      with_torch_errors(work);
      return "";
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted) throw;
      return error.headline();
    }
  }

  RunLimits limits_of(const Remedy& remedy, const RunLimits& limits) const {
    return limits_with(remedy, path_, limits);
  }

  std::unique_ptr<Side> side(const std::vector<std::string>& changes, const RunLimits& limits) const {
    if (fit_) return side_of_fit(with_changes(changes, *fit_, with_set_), say_, limits);
    RunSettings settings = settings_;
    for (const std::string& change : changes) settings.threads = threads_of(change).value_or(settings.threads);
    return side_of_task(training_, settings, say_, limits);
  }

  // The seconds in which a change has its first round, or all of them where it makes a file.
  double expected(const Remedy& remedy, const Profile& profile, const RunLimits& limits) const {
    const double seconds = expected_seconds(profile, limits, std::max<std::int64_t>(1, remedy.stack));
    return remedy.packs ? rounds * seconds + seconds_to_pack().value_or(0) : seconds;
  }

  std::optional<double> seconds_to_pack() const {
    if (!sample_seconds_) return std::nullopt;
    return static_cast<double>(fit_->plan.data.train.data->size) * *sample_seconds_ / usable_cores();
  }

  std::unique_ptr<Side> packed(const std::filesystem::path& file, const RunLimits& limits,
                               const TrialTime& time) const {
    const std::optional<double> seconds = seconds_to_pack();
    if (!seconds || *seconds > time.left() / 2) {
      throw run_error("making the file takes " +
                      (seconds ? fmt::format("about {:.0f} s", *seconds) : "an unknown time") +
                      "; the recipe has it with data:pack");
    }
    return side_of_fit(with_packed_images(*fit_, file), say_, limits);
  }

  // A group has validations and checkpoints of its own: one for each fit.
  std::unique_ptr<Side> group(std::int64_t count, RunLimits limits) const {
    limits.known.reset();
    return side_of_fit(in_group(*fit_, count), say_, limits);
  }

  // The side of a change; `packed_file`: where the file of packed images is made.
  std::unique_ptr<Side> side_of(const Remedy& remedy, const std::filesystem::path& packed_file, const RunLimits& limits,
                                const TrialTime& time) const {
    if (remedy.packs) return packed(packed_file, limits, time);
    return remedy.stack > 0 ? group(remedy.stack, limits) : side(remedy.set, limits);
  }

  // The training without a change whose runs have other limits with the change; null: they have the usual ones.
  std::unique_ptr<Side> own_base(const RunLimits& own, const RunLimits& usual) const {
    return own.validation_functions == usual.validation_functions ? nullptr : side({}, own);
  }

  // The first round of a change, and the comparison of the weights. A packed file is made once, for all rounds.
  void try_first(Trial& trial, Side& base, const TrainedSteps& without, const RunLimits& limits,
                 const TrialTime& time) const {
    Remedy& remedy = *trial.remedy;
    remedy.reason = reason_against([&] {
      const ScratchFolder folder;
      const RunLimits own = limits_of(remedy, limits);
      const std::unique_ptr<Side> other = side_of(remedy, folder.path() / "images", own, time);
      const std::unique_ptr<Side> own_without = own_base(own, limits);
      Side& unchanged = own_without ? *own_without : base;
      const TrainedSteps with = other->trained();
      add_rounds(trial, unchanged, *other, 1, time);
      remedy.result = remedy.always_changes ? "changes the result" : compared_weights(without.weights, with.weights);
      if (without.peak && with.peak) remedy.bytes = *without.peak - *with.peak;
      if (remedy.has_same_weights() && !remedy.same_weights.empty()) remedy.result = remedy.same_weights;
      if (remedy.packs) remedy.ended_by = reason_against([&] { add_rounds(trial, unchanged, *other, rounds, time); });
    });
  }

  // The rounds that give the ratio its interval. An error leaves the pairs that there are.
  void try_further(Trial& trial, Side& base, const RunLimits& limits, const TrialTime& time) const {
    if (trial.remedy->packs || !time.has(trial.expected)) return;
    trial.remedy->ended_by = reason_against([&] {
      const RunLimits own = limits_of(*trial.remedy, limits);
      const std::unique_ptr<Side> own_without = own_base(own, limits);
      add_rounds(trial, own_without ? *own_without : base, *side_of(*trial.remedy, {}, own, time), rounds, time);
    });
  }

  // Up to `most` rounds in all, until the change has lost, or no time is left.
  static void add_rounds(Trial& trial, Side& without, Side& with, std::int64_t most, const TrialTime& time) {
    while (std::ssize(trial.ratios) < pairs_of_round * most && !trial.has_lost() &&
           (trial.ratios.empty() || time.left() > 0)) {
      add_round(trial.ratios, without, with);
      trial.remedy->ratio = median_interval(trial.ratios);
      trial.remedy->pairs = std::ssize(trial.ratios);
    }
  }

  static void add_round(std::vector<double>& ratios, Side& without, Side& with) {
    in_turns(
        1, [&] { return without.speed(); }, [&] { return with.speed(); },
        [&](double a, double b) { ratios.push_back(b / a); });
  }

  // `expected`: the seconds of one measurement.
  JoinedRemedies join(const std::vector<Remedy>& remedies, const NamedTensors& weights, const RunLimits& limits,
                      double expected, const TrialTime& time) const {
    return join_remedies(remedies, [&](const auto& without, const auto& with) {
      std::optional<MedianInterval> ratio;
      if (!time.has(expected)) return ratio;
      reason_against([&] {
        const RunLimits own = limits_of({.set = with}, limits);
        const std::unique_ptr<Side> other = side(with, own);
        if (!compared_weights(weights, other->trained().weights).starts_with("same ")) return;
        // The ratio to the unchanged training is what the file promises: further rounds follow while the gain is not
        // known well.
        const std::int64_t most = without.empty() ? most_rounds : rounds;
        const std::unique_ptr<Side> base = side(without, own);
        std::vector<double> ratios;
        for (std::int64_t round = 0; round < most && time.left() > 0; ++round) {
          if (round >= rounds && !is_vague_gain(median_interval(ratios))) break;
          add_round(ratios, *base, *other);
        }
        if (ratios.size() >= least_for_interval) ratio = median_interval(ratios);
      });
      return ratio;
    });
  }

  const Options& training_;
  const RunSettings& settings_;
  const WithSet& with_set_;
  const ProfileOptions& options_;
  const Say say_;
  std::string path_;                      // StageOfTraining::path
  bool functions_take_time_ = false;      // FitFacts::functions_at_validations
  std::optional<Variant> fit_;            // unless the training is a task
  std::optional<double> sample_seconds_;  // StageOfTraining::sample_seconds
};

}  // namespace

void try_remedies(TriedRemedies& tried, const Profile& profile, const StepVerdict& verdict, const Options& training,
                  const RunSettings& settings, const WithSet& with_set, const ProfileOptions& options,
                  const StageOfTraining& stage) {
  with_torch_errors([&] {
    Trials trials(training, settings, with_set, options);
    if (!profile.no_room.empty()) {
      // A budget has tried all options by itself.
      if (profile.kind == "fit" && !is_auto_memory(training)) trials.try_to_fit(tried, stage);
      return;
    }
    tried.all = trials.suggest(profile, verdict, stage);
    const auto to_try = std::ranges::count_if(tried.all, [](const Remedy& one) { return one.is_tried(); });
    if (to_try == 0) return;
    const double left = options.began + options.seconds - steady_seconds();
    const double share = left / static_cast<double>(runs * (to_try + 1));
    const double seconds = std::max(std::clamp(share, least_seconds, most_seconds), least_steps * profile.steps.mean);
    trials.try_all(tried, profile, run_limits(profile, verdict, seconds));
  });
}

}  // namespace trainlab
