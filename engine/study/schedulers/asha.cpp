// Asynchronous successive halving (Li et al. 2020, "A system for massively parallel hyperparameter tuning", algorithm
// 2): when a trial may begin, the best configuration that is in the best 1/η of its rung, and has not trained on yet,
// trains on to the next rung; where no rung has such a configuration, a new one begins. No trial waits for a rung to
// fill, so that a configuration may train on that is not among the best in the end.
//
// A trial is one configuration's training from one rung to the next.
#include <algorithm>
#include <limits>

#include "schedulers.h"
#include "shared_entries.h"

namespace trainlab {

namespace {

class AshaScheduler final : public Scheduler {
 public:
  // `lengths`: validations at the ends of the rungs.
  AshaScheduler(const Space& space, std::vector<std::int64_t> lengths, std::int64_t reduction)
      : space_(space), lengths_(std::move(lengths)), reduction_(reduction) {}

  std::optional<Segment> segment(const Curves& trials, std::int64_t trial) const override {
    const Segment first{.parent = {}, .until = lengths_.front()};
    // A trial that waits has given values, and begins a configuration.
    if (trial < trials.trials().size()) return first;
    const std::vector<bool> continued = parents(trials.trials());
    const std::vector<std::vector<std::int64_t>> rungs = ended(trials);
    for (std::size_t rung = rungs.size(); rung-- > 0;) {
      std::vector<std::int64_t> best = ranking(trials, rungs[rung]);
      best.resize(best.size() / static_cast<std::size_t>(reduction_));
      for (const std::int64_t parent : best) {
        if (trials.trials().state(parent) != TrialState::complete || continued[static_cast<std::size_t>(parent)])
          continue;
        return Segment{.parent = parent, .until = lengths_[rung + 1]};
      }
    }
    return first;
  }

  bool is_by_order() const override { return true; }

  void inherit(const Curves& trials, std::int64_t, std::int64_t parent, std::int64_t,
               std::span<double> point) const override {
    keep_parameters(space_, trials.trials().point(parent), point);
  }

  std::int64_t longest(std::int64_t trials) const override {
    return lengths_[static_cast<std::size_t>(std::max<std::int64_t>(reach(trials).rungs, 1) - 1)];
  }

  // The most configurations possible come to the last rung: each rung before has η − 1 trials more. Trials that are
  // left over are one more in each of the first rungs.
  std::vector<TrainingWave> waves(std::int64_t trials) const override {
    const auto [rungs, fewest] = reach(trials);
    const std::int64_t more = (trials - fewest) / rungs, left = (trials - fewest) % rungs;
    std::vector<TrainingWave> waves;
    std::int64_t before = 0;
    for (std::int64_t rung = 0; rung < rungs; ++rung) {
      const std::int64_t until = lengths_[static_cast<std::size_t>(rung)];
      waves.push_back({.trials = 1 + (rungs - 1 - rung) * (reduction_ - 1) + more + (rung < left ? 1 : 0),
                       .validations = until - before});
      before = until;
    }
    return waves;
  }

  // A configuration has a trial in each rung at most.
  std::int64_t beginnings(std::int64_t trials) const override {
    const std::int64_t rungs = std::ssize(lengths_);
    return trials / rungs + (trials % rungs > 0 ? 1 : 0);
  }

  // A trial that waits with given values always begins a configuration: segment() chooses no parent for such a trial.
  std::int64_t most_given() const override { return std::numeric_limits<std::int64_t>::max(); }

  bool is_partial(const Segment& segment) const override { return segment.until < lengths_.back(); }

 private:
  // How many rungs the first `trials` trials come to at most, and the fewest trials that come to as many. The first
  // trial of a rung needs η trials of the rung before, and each further trial one more there at least: before a rung
  // with n trials is one with n + η − 1 trials.
  struct Reach {
    std::int64_t rungs = 0, fewest = 0;
  };
  Reach reach(std::int64_t trials) const {
    Reach reached;
    for (std::int64_t in_first_rung = 1;
         reached.rungs < std::ssize(lengths_) && reached.fewest + in_first_rung <= trials;
         in_first_rung += reduction_ - 1) {
      reached.fewest += in_first_rung;
      ++reached.rungs;
    }
    return reached;
  }

  // The trials that have ended, by rung, those of the last rung left out.
  std::vector<std::vector<std::int64_t>> ended(const Curves& trials) const {
    std::vector<std::vector<std::int64_t>> rungs(lengths_.size() - 1);
    for (std::int64_t trial = 0; trial < trials.visible(); ++trial) {
      const std::optional<Segment> segment = trials.trials().segment(trial);
      if (!segment || !is_final(trials.trials().state(trial))) continue;
      const auto length = std::ranges::find(lengths_, segment->until);
      if (const auto rung = static_cast<std::size_t>(length - lengths_.begin()); rung < rungs.size())
        rungs[rung].push_back(trial);
    }
    return rungs;
  }

  // By trial: whether another trial continues it.
  static std::vector<bool> parents(const Trials& trials) {
    std::vector<bool> parents(static_cast<std::size_t>(trials.size()));
    for (std::int64_t trial = 0; trial < trials.size(); ++trial) {
      const std::optional<Segment> segment = trials.segment(trial);
      if (segment && segment->parent) parents[static_cast<std::size_t>(*segment->parent)] = true;
    }
    return parents;
  }

  const Space space_;
  const std::vector<std::int64_t> lengths_;
  const std::int64_t reduction_;
};

std::shared_ptr<const Scheduler> make_asha_scheduler(const Options& spec, const Space& space, std::int64_t,
                                                     const Delivery& delivery) {
  return std::make_shared<AshaScheduler>(space, rung_lengths(spec, delivery.weights), spec.integer("reduction"));
}

}  // namespace

void register_asha(Registry& registry) {
  registry.add(
      Entry("scheduler.asha", "scheduler",
            "Asynchronous successive halving: the best configurations train on, and no trial waits.")
          .with(scheduler_min_option("number of validations of the first rung"))
          .with(scheduler_max_option())
          .with(scheduler_reduction_option())
          .example("scheduler.asha { max = 27, reduction = 3 }")
          .note(
              "Li et al. 2020, with promotion. A trial is one configuration's training from one rung to the next; the "
              "rungs end after min, min · η, min · η² … validations, with η = reduction, up to max. When a trial may "
              "begin, the longest rung is looked at first: the best configuration that is in the best 1/η of its "
              "rung, and has not continued yet, begins with the checkpoint of its trial there. Where no rung has such "
              "a configuration, the sampler chooses a new one. Which configurations continue depends on the order in "
              "which results arrive, unless the sweep is deterministic: trial k then knows trials 0 … k − 8. "
              "pruner.asha stops whole fits instead."),
      SchedulerFactory{make_asha_scheduler});
}

}  // namespace trainlab
