// Remedies measured beside the unchanged fit.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "core/clock.h"
#include "core/words.h"
#include "machine/product_times.h"
#include "model/layer.h"
#include "profile/remedies.h"
#include "run/run.h"
#include "side.h"
#include "steps/in_turns.h"
#include "tensor/free_memory.h"
#include "tensor/types.h"
#include "train/memory_prediction.h"
#include "train/stacking.h"

namespace trainlab {

namespace {

// Rounds of A B B A: six ratios, the fewest that have a 95 % interval of their median. It leaves out 1 where all of
// them lie on one side, and more of them could not change that.
constexpr std::int64_t rounds = 3, runs_of_round = 4;
constexpr std::int64_t runs = runs_of_round * rounds;
constexpr std::int64_t most_rounds = 10;  // of the changes that are joined, whose gain is promised
constexpr double lost = 0.9;              // a change that is slower than this in all pairs of two rounds needs no third
constexpr double least_seconds = 0.1, most_seconds = 0.3;  // of a short run
constexpr double least_steps = 3;                          // of a short run whose steps are slow: one of them is cold
// Part of a step's time up to which validations and checkpoints need not be measured with each change.
constexpr double small_part = 0.02;
constexpr std::int64_t few_fits = 8;  // of a stack where none of the sizes is known to save time

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
  const double apart = profile.validation.per_step() + profile.checkpoint.per_step();
  if (!limits.measures_all && apart <= small_part * profile.wall()) limits.known = profile.steps;
  return limits;
}

// The time that the profile's seconds leave for `changes` changes, and for several of them together. Made when the
// remedies begin.
class TimeLeft {
 public:
  TimeLeft(const ProfileOptions& options, std::int64_t changes)
      : options_(options), changes_(static_cast<double>(changes)), measured_(steady_seconds() - options.began) {}
  double seconds() const { return options_.began + options_.seconds - steady_seconds(); }
  // The seconds of a short run with which the changes take the time that is left.
  double share() const { return seconds() / (runs * (changes_ + 1)); }
  // Why changes are not tried, where a change takes `each` seconds with short runs of `run` seconds. Under a longer
  // limit steps are timed for longer, and so are short runs.
  std::string lack(double each, double run) const {
    const double all = (changes_ + 1) * (each + runs * std::max(0.0, most_seconds - run));
    return lack_of((measured_ - options_.steps_share * options_.seconds + all) / (1 - options_.steps_share));
  }
  // The same for changes of a fit that memory does not hold, of which no steps were timed.
  std::string lack(double each) const { return lack_of(measured_ + changes_ * each); }

 private:
  std::string lack_of(double needed) const {
    return fmt::format("no time left (--seconds {:.0f} tries all)",
                       std::max(std::ceil(needed), std::floor(options_.seconds) + 1));
  }

  const ProfileOptions& options_;
  const double changes_, measured_;
};

// FitFacts::decided_by_validations.
std::string decided_by_validations(const FitPlan& plan, const StageOfTraining& stage) {
  const Options& fit = plan.options;
  std::vector<std::string> all;
  if (plan.keep_best) all.push_back("which weights are kept");
  if (fit.given("stop")) all.push_back("when a stop rule ends the training");
  if (stage.validations_decide) all.push_back("which trials go on");
  if (fit.given("schedule") && follows_validations(fit.registry(), fit.get("schedule")))
    all.push_back("when the rate falls");
  if (fit.given("on") && fit.child("on").given("validate")) all.push_back("when on.validate is called");
  return listed(all, "and");
}

bool decodes_files(const Part& part) {
  return std::ranges::any_of(part.data->columns, [&](const Column& column) {
    return column.source && part.size() > 0 && !column.source->place(part.row(0)).path.empty();
  });
}

bool has_convolutions(const Layer& layer) {
  return layer.traits.is_convolution ||
         std::ranges::any_of(layer.children(), [](const Layer* child) { return has_convolutions(*child); });
}

// FitFacts::keeps_much.
bool keeps_much(const FitPlan& plan, const MemoryPrediction* predicted) {
  if (!plan.device.is_cpu() || !predicted || predicted->is_least()) return false;
  const MemoryLedger& step = predicted->memory.ledger;
  return 2 * step.of(MemoryKind::activations) >= step.peak && 4 * predicted->memory.training() >= room_of(plan);
}

FitFacts facts_of(const Profile& profile, const FitPlan& plan, const StageOfTraining& stage, int threads) {
  const Options& fit = plan.options;
  const std::int64_t stack = plan.step ? 1 : stack_size(plan, threads);
  return {.batch = plan.loader.batch,
          .accumulate = plan.accumulate,
          .samples = plan.data.train.size(),
          .loader_threads = plan.loader.threads,
          .prefetch = plan.loader.prefetch,
          .validate_every = plan.validate_every,
          .decided_by_validations = decided_by_validations(plan, stage),
          .checkpoint_every = profile.checkpoint.every.value_or(0),
          .has_metrics = !plan.metrics.empty(),
          .has_transforms = !plan.data.train.transforms.empty(),
          .is_double = plan.precision.weights == at::kDouble,
          .drops_last = plan.loader.drop_last,
          .decodes_files = decodes_files(plan.data.train),
          .has_convolutions = plan.model && has_convolutions(plan.model->root()),
          .model = fit.is_entry("model") ? std::optional<ModelChanges>(fit) : std::nullopt,
          .keeps_much = keeps_much(plan, stage.predicted),
          .chain = plan.model ? std::ssize(plan.model->chain()) : 1,
          .stack = stack > 1 ? stack : few_fits,
          .why_alone = why_alone(plan),
          .bfloat16_time = plan.device.is_cpu() && plan.precision.compute == at::kFloat
                               ? std::optional(relative_product_time(at::kBFloat16))
                               : std::nullopt,
          .own_time = plan.device.is_cpu() && plan.precision.is_mixed()
                          ? std::optional(relative_product_time(plan.precision.compute))
                          : std::nullopt};
}

class Trials {
 public:
  Trials(const Options& training, const RunSettings& settings, const WithSet& with_set, const ProfileOptions& options)
      : training_(training),
        settings_(settings),
        with_set_(with_set),
        say_(options.say ? options.say : [](const std::string&) {}) {}

  std::vector<Remedy> suggest(const Profile& profile, const StepVerdict& verdict, const StageOfTraining& stage) {
    const bool is_task = profile.kind != "fit";
    if (!is_task) fit_.emplace(variant_of(training_, settings_, profile.shared_data()));
    FitFacts facts = fit_ ? facts_of(profile, fit_->plan, stage, settings_.threads)
                          : FitFacts{.samples = std::numeric_limits<std::int64_t>::max()};
    facts.threads = settings_.threads;
    facts.own_threads_compete = verdict.own_threads_compete;
    facts.loader_needs = stage.loader_needs;
    facts.is_synchronous = profile.is_synchronous;
    facts.cores = std::max(1, static_cast<int>(profile.cores) / stage.workers);
    sample_seconds_ = stage.sample_seconds;
    std::vector<Remedy> remedies = remedies_for(verdict.bottleneck, facts);
    if (verdict.bottleneck == Bottleneck::contention) {
      for (Remedy& more : remedies_for(verdict.otherwise, facts))
        if (std::ranges::count(remedies, more.name, &Remedy::name) == 0) remedies.push_back(std::move(more));
    }
    for (Remedy& one : remedies) {
      if (!one.is_tried()) continue;
      const bool is_threads = !one.set.empty() && threads_of(one.set.front());
      if (!is_threads && is_task) {
        one.set.clear();
        one.reason = "a task's loop is code, which no option changes";
        continue;
      }
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

  void try_all(TriedRemedies& tried, const RunLimits& limits, const TimeLeft& left) {
    const std::vector<Remedy*> to_try = begin(tried);
    const double began = steady_seconds();
    const std::unique_ptr<Side> base = side({}, limits);
    const TrainedSteps without = base->trained();
    // The seconds that a change takes: at first, those of short runs that begin like this one.
    double each = runs * (limits.steps.seconds + steady_seconds() - began);
    std::vector<Remedy*> later;
    for (Remedy* const one : to_try) {
      // One round says more than none.
      if (left.seconds() < (one == to_try.front() ? each / rounds : each)) {
        later.push_back(one);
        continue;
      }
      const double before = steady_seconds();
      Remedy& remedy = *one;
      remedy.reason = reason_against([&] {
        const ScratchFolder folder;  // of the packed file
        const std::unique_ptr<Side> other = remedy.packs       ? packed(folder.path() / "images", limits, left)
                                            : remedy.stack > 0 ? group(remedy.stack, limits)
                                                               : side(remedy.set, limits);
        const TrainedSteps with = other->trained();
        const std::vector<double> ratios = ratios_of(*base, *other, left);
        remedy.ratio = median_interval(ratios);
        remedy.pairs = std::ssize(ratios);
        remedy.result = remedy.always_changes ? "changes the result" : compared_weights(without.weights, with.weights);
        if (without.peak && with.peak) remedy.bytes = *without.peak - *with.peak;
        if (remedy.has_same_weights() && !remedy.same_weights.empty()) remedy.result = remedy.same_weights;
      });
      if (remedy.has_interval()) each = steady_seconds() - before;
    }
    for (Remedy* const one : later) one->reason = left.lack(each, limits.steps.seconds);
    tried.had_no_time = later.size() == to_try.size();
    tried.joined = join(tried.all, without.weights, limits, left, each);
    prepare_arithmetic(settings_.threads);
  }

  // The remedies for a fit that memory does not hold.
  void try_to_fit(TriedRemedies& tried, const StageOfTraining& stage, const ProfileOptions& options) const {
    tried.all = remedies_for(Bottleneck::capacity, {});
    for (Remedy& one : tried.all) add_path(stage, one);
    const std::vector<Remedy*> to_try = begin(tried);
    const TimeLeft left(options, std::ssize(to_try));
    double each = 0;  // the seconds of the longest
    std::vector<Remedy*> later;
    for (Remedy* const one : to_try) {
      if (left.seconds() <= each) {
        later.push_back(one);
        continue;
      }
      const double before = steady_seconds();
      one->reason = reason_against([&] {
        const std::unique_ptr<Side> side = side_of_fit(variant_of(with_set_(one->set), settings_, nullptr), say_, {});
        const std::int64_t peak = side->trained().peak.value_or(0);
        one->result = "not compared: the training fits" +
                      (peak > 0 ? ", with " + memory_text(peak) + " in its first steps" : "") +
                      ", and does not without the change";
      });
      each = std::max(each, steady_seconds() - before);
    }
    for (Remedy* const one : later) one->reason = left.lack(each);
    tried.had_no_time = later.size() == to_try.size();
    // With another batch the weights are others; with all other options they keep their bits.
    const auto keeps = std::ranges::find_if(tried.all, [&](const Remedy& one) {
      return one.is_tried() && !one.set.front().starts_with(stage.path + "batch=");
    });
    if (keeps != tried.all.end()) tried.joined.set = keeps->set;
  }

 private:
  // The remedies that can be tried. Each has a reason until that is done, which holds if it is never done.
  static std::vector<Remedy*> begin(TriedRemedies& tried) {
    std::vector<Remedy*> to_try;
    for (Remedy& one : tried.all) {
      if (!one.is_tried()) continue;
      one.reason = "the trials ended before its turn";
      to_try.push_back(&one);
    }
    return to_try;
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

  std::unique_ptr<Side> side(const std::vector<std::string>& changes, const RunLimits& limits) const {
    if (fit_) return side_of_fit(with_changes(changes, *fit_, with_set_), say_, limits);
    RunSettings settings = settings_;
    for (const std::string& change : changes) settings.threads = threads_of(change).value_or(settings.threads);
    return side_of_task(training_, settings, say_, limits);
  }

  std::unique_ptr<Side> packed(const std::filesystem::path& file, const RunLimits& limits, const TimeLeft& left) const {
    const double samples = static_cast<double>(fit_->plan.data.train.data->size);
    const double seconds = samples * sample_seconds_.value_or(0) / usable_cores();
    if (!sample_seconds_ || seconds > left.seconds() / 2) {
      throw run_error("making the file takes " +
                      (sample_seconds_ ? fmt::format("about {:.0f} s", seconds) : "an unknown time") +
                      "; the recipe has it with data:pack");
    }
    return side_of_fit(with_packed_images(*fit_, file), say_, limits);
  }

  // A group has validations and checkpoints of its own: one for each fit.
  std::unique_ptr<Side> group(std::int64_t count, RunLimits limits) const {
    limits.known.reset();
    return side_of_fit(in_group(*fit_, count), say_, limits);
  }

  // Until the rounds are over, or the change has clearly lost, or no time is left. `most`: rounds, of which those after
  // the usual number follow only while a gain is not known well.
  static std::vector<double> ratios_of(Side& without, Side& with, const TimeLeft& left, std::int64_t most = rounds) {
    std::vector<double> ratios;
    const auto has_lost = [&] {
      return ratios.size() >= 4 && std::ranges::all_of(ratios, [](double one) { return one < lost; });
    };
    const auto is_over = [&](std::int64_t round) {
      return round >= most || (round >= rounds && !is_vague_gain(median_interval(ratios)));
    };
    for (std::int64_t round = 0; !is_over(round) && !has_lost() && (round == 0 || left.seconds() > 0); ++round) {
      in_turns(
          1, [&] { return without.speed(); }, [&] { return with.speed(); },
          [&](double a, double b) { ratios.push_back(b / a); });
    }
    return ratios;
  }

  // `each`: the seconds that a change takes.
  JoinedRemedies join(const std::vector<Remedy>& remedies, const NamedTensors& weights, const RunLimits& limits,
                      const TimeLeft& left, double each) const {
    return join_remedies(remedies, [&](const auto& without, const auto& with) {
      std::optional<MedianInterval> ratio;
      if (left.seconds() < each) return ratio;
      reason_against([&] {
        const std::unique_ptr<Side> other = side(with, limits);
        if (!compared_weights(weights, other->trained().weights).starts_with("same ")) return;
        // What is measured beside the unchanged training is the promise of the file.
        const std::int64_t most = without.empty() ? most_rounds : rounds;
        const std::vector<double> ratios = ratios_of(*side(without, limits), *other, left, most);
        if (ratios.size() >= least_for_interval) ratio = median_interval(ratios);
      });
      return ratio;
    });
  }

  const Options& training_;
  const RunSettings& settings_;
  const WithSet& with_set_;
  const Say say_;
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
      if (profile.kind == "fit" && !is_auto_memory(training)) trials.try_to_fit(tried, stage, options);
      return;
    }
    tried.all = trials.suggest(profile, verdict, stage);
    const auto to_try = std::ranges::count_if(tried.all, [](const Remedy& one) { return one.is_tried(); });
    if (to_try == 0) return;
    const TimeLeft left(options, to_try);
    const double seconds =
        std::max(std::clamp(left.share(), least_seconds, most_seconds), least_steps * profile.steps.mean);
    if (left.seconds() < runs_of_round * seconds) {
      for (Remedy& remedy : tried.all)
        if (remedy.is_tried()) remedy.reason = left.lack(runs * seconds, seconds);
      tried.had_no_time = true;
      return;
    }
    trials.try_all(tried, run_limits(profile, verdict, seconds), left);
  });
}

}  // namespace trainlab
