// Successive halving and Hyperband, synchronous.
//
// Successive halving (Jamieson and Talwalkar 2016, "Non-stochastic best arm identification and hyperparameter
// optimization"): many configurations train for a little, the best 1/η of them train on for η times as long, and so on
// until fewer than η are left. Hyperband (Li et al. 2018) runs successive halving with several starting lengths, from
// many short configurations to few long ones, because the right length is not known beforehand.
//
// A trial is one configuration's training from one rung to the next. A rung begins when the rung before has ended.
// Rounds of trials follow each other; each begins with new configurations.
#include <algorithm>
#include <limits>

#include "schedulers.h"
#include "shared_entries.h"

namespace trainlab {

namespace {

struct Rung {
  std::int64_t first, count;  // trials, counted from the first trial of the round
  std::int64_t until;         // validations in all
  const Rung* before;         // null: the rung begins new configurations

  // The validations of a trial.
  std::int64_t length() const { return until - (before ? before->until : 0); }
};

// The rungs of a round. A bracket is one run of successive halving.
class Round {
 public:
  void add_bracket(std::int64_t configurations, std::int64_t until, std::int64_t reduction, std::int64_t rungs) {
    const Rung* before = nullptr;
    for (std::int64_t count = configurations; count > 0 && rungs > 0; count /= reduction, --rungs) {
      rungs_.push_back(std::make_unique<Rung>(Rung{.first = size_, .count = count, .until = until, .before = before}));
      before = rungs_.back().get();
      size_ += count;
      until *= reduction;
    }
  }

  std::int64_t size() const { return size_; }
  const Rung& rung(std::int64_t trial) const {
    const auto after =
        std::ranges::find_if(rungs_, [&](const auto& rung) { return trial % size_ < rung->first + rung->count; });
    return **after;
  }
  const std::vector<std::unique_ptr<Rung>>& rungs() const { return rungs_; }

 private:
  std::vector<std::unique_ptr<Rung>> rungs_;
  std::int64_t size_ = 0;  // trials of all rungs
};

class Halving final : public Scheduler {
 public:
  Halving(const Space& space, Round round) : space_(space), round_(std::move(round)) {}

  std::optional<Segment> segment(const Curves& trials, std::int64_t trial) const override {
    const Rung& rung = round_.rung(trial);
    Segment segment{.parent = {}, .until = rung.until};
    if (!rung.before) return segment;
    const std::int64_t place = trial % round_.size(), first = trial - place + rung.before->first;
    if (!have_ended(trials.trials(), first, first + rung.before->count)) return std::nullopt;
    // The k-th trial of a rung continues the k-th best of the rung before.
    segment.parent = ranking(trials, first, first + rung.before->count)[static_cast<std::size_t>(place - rung.first)];
    return segment;
  }

  void inherit(const Curves& trials, std::int64_t, std::int64_t parent, std::int64_t,
               std::span<double> point) const override {
    keep_parameters(space_, trials.trials().point(parent), point);
  }

  std::int64_t longest(std::int64_t trials) const override {
    std::int64_t longest = 0;
    for (const auto& rung : round_.rungs()) {
      if (rung->first < trials) longest = std::max(longest, rung->until);
    }
    return longest;
  }

  std::vector<TrainingWave> waves(std::int64_t trials) const override {
    std::vector<TrainingWave> waves;
    const std::int64_t rounds = trials / round_.size(), rest = trials % round_.size();
    const auto add = [&](const Rung& rung, std::int64_t count, std::int64_t times) {
      if (count > 0 && times > 0) waves.push_back({.trials = count, .validations = rung.length(), .times = times});
    };
    for (const auto& rung : round_.rungs()) add(*rung, rung->count, rounds);
    for (const auto& rung : round_.rungs()) add(*rung, std::min(rest - rung->first, rung->count), 1);
    return waves;
  }

  std::int64_t beginnings(std::int64_t trials) const override {
    std::int64_t of_round = 0, of_rest = 0;
    for (const auto& rung : round_.rungs()) {
      if (rung->before) continue;
      of_round += rung->count;
      of_rest += std::clamp<std::int64_t>(trials % round_.size() - rung->first, 0, rung->count);
    }
    return trials / round_.size() * of_round + of_rest;
  }

  std::int64_t most_given() const override {
    for (const auto& rung : round_.rungs()) {
      if (rung->before) return rung->first;
    }
    return std::numeric_limits<std::int64_t>::max();
  }

  // The last rungs of all brackets end at the same validation.
  bool is_partial(const Segment& segment) const override { return segment.until < longest(round_.size()); }

 private:
  const Space space_;
  const Round round_;
};

// Rungs of the user's own length that the fit cannot hold are an error, those of the default length are left out.
std::shared_ptr<const Scheduler> make_halving(const Options& spec, const Space& space, std::int64_t,
                                              const Delivery& delivery) {
  const std::int64_t configurations = spec.integer("configurations"), reduction = spec.integer("reduction");
  std::int64_t rungs = 0;
  for (std::int64_t left = configurations; left > 0; left /= reduction) ++rungs;
  const std::int64_t first = first_rung(spec, delivery.validations, delivery.weights, rungs);
  if (!spec.given("min") && delivery.validations > 0) {
    std::int64_t fitting = 1;
    for (std::int64_t length = first; length <= delivery.validations / reduction; length *= reduction) ++fitting;
    rungs = std::min(rungs, fitting);
  }
  Round round;
  round.add_bracket(configurations, first, reduction, rungs);
  return std::make_shared<Halving>(space, std::move(round));
}

// The configurations of bracket s = s_max … 0 train for max · η^−s validations first.
std::shared_ptr<const Scheduler> make_hyperband_scheduler(const Options& spec, const Space& space, std::int64_t,
                                                          const Delivery& delivery) {
  const std::vector<std::int64_t> lengths = rung_lengths(spec, delivery.weights);
  const std::vector<std::int64_t> sizes = bracket_sizes(lengths);
  Round round;
  for (std::size_t s = sizes.size(); s-- > 0;) {
    round.add_bracket(sizes[s], lengths[sizes.size() - 1 - s], spec.integer("reduction"),
                      static_cast<std::int64_t>(s) + 1);
  }
  return std::make_shared<Halving>(space, std::move(round));
}

}  // namespace

void register_halving(Registry& registry) {
  registry.add(
      Entry("scheduler.halving", "scheduler",
            "Successive halving: many configurations begin, and only the best of them continue.")
          .with(Option("configurations", "number of configurations that begin in each round")
                    .integer()
                    .at_least(2)
                    .at_most(1'000'000)
                    .or_default(27))
          .with(scheduler_min_option("number of validations of the first rung"))
          .with(scheduler_reduction_option())
          .example("scheduler.halving { configurations = 27, reduction = 3 }")
          .note("Jamieson and Talwalkar 2016. A trial is one configuration's training from one rung to the next; it "
                "begins with the checkpoint of the configuration's trial in the rung before. A rung begins when the "
                "rung before has ended. A round of 27, 9, 3 and 1 has 40 trials; more trials begin another round. The "
                "sampler chooses the configurations. A rung compares the values of its trials. "
                "scheduler.asha halves without waiting."),
      SchedulerFactory{make_halving});
  registry.add(
      Entry("scheduler.hyperband", "scheduler",
            "Successive halving in several brackets, from many short configurations to few long ones.")
          .with(scheduler_min_option("number of validations of the shortest rung"))
          .with(scheduler_max_option())
          .with(scheduler_reduction_option())
          .example("scheduler.hyperband { max = 27 }")
          .note("Li et al. 2018. With η = reduction and s_max = ⌊log_η(max / min)⌋ a round has the brackets "
                "s = s_max … 0. Bracket s runs scheduler.halving with s + 1 rungs: "
                "⌈(s_max + 1) · η^s / (s + 1)⌉ configurations begin and train for min · η^(s_max − s) validations "
                "first. With sampler.tpe this is the search called BOHB (Falkner, Klein and Hutter 2018). "
                "pruner.hyperband does not wait."),
      SchedulerFactory{make_hyperband_scheduler});
}

}  // namespace trainlab
