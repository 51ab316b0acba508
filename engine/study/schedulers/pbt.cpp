// Population-based training (Jaderberg et al. 2017, "Population based training of neural networks"), in generations: a
// trial is one member's training for some validations and begins with the checkpoint of a trial of the generation
// before. A member of the worst quarter begins with the checkpoint of a member of the best quarter, with parameters
// that are perturbed (section 3: truncation selection; perturb and resample).
//
// A generation begins when the generation before has ended, so that decisions do not depend on the number of processes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "samplers/samplers.h"
#include "schedulers.h"

namespace trainlab {

namespace {

struct PbtSettings {
  std::int64_t population;
  std::int64_t interval;  // validations of a generation
  double factor, resample;
  std::int64_t seed;
};

class Pbt final : public Scheduler {
 public:
  Pbt(const Space& space, const PbtSettings& settings)
      : space_(space), settings_(settings), draws_(space, Key(static_cast<std::uint64_t>(settings.seed)).fold("pbt")) {}

  std::optional<Segment> segment(const Curves& trials, std::int64_t trial) const override {
    const std::int64_t generation = trial / settings_.population, first = generation * settings_.population;
    Segment segment{.parent = {}, .until = (generation + 1) * settings_.interval};
    if (generation == 0) return segment;
    if (!have_ended(trials.trials(), first - settings_.population, first)) return std::nullopt;
    segment.parent = parent(trials, trial);
    return segment;
  }

  void inherit(const Curves& trials, std::int64_t trial, std::int64_t parent, std::int64_t attempt,
               std::span<double> point) const override {
    const std::span<const double> known = trials.trials().point(parent);
    const bool is_copy = parent == trial - settings_.population;
    Stream draws = draws_.stream(trial, attempt);
    for (const std::size_t i : space_.order()) {
      if (!std::isnan(point[i]) || !space_.active(i, point)) continue;
      point[i] = is_copy || std::isnan(known[i]) ? known[i] : perturbed(i, known[i], draws);
    }
  }

  std::int64_t longest(std::int64_t trials) const override {
    const std::int64_t generations = trials / settings_.population + (trials % settings_.population > 0 ? 1 : 0);
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    return generations > most / settings_.interval || trials == most ? most : generations * settings_.interval;
  }
  std::vector<TrainingWave> waves(std::int64_t trials) const override {
    std::vector<TrainingWave> waves;
    const auto add = [&](std::int64_t members, std::int64_t generations) {
      if (members > 0 && generations > 0)
        waves.push_back({.trials = members, .validations = settings_.interval, .times = generations});
    };
    add(settings_.population, trials / settings_.population);
    add(trials % settings_.population, 1);
    return waves;
  }
  std::int64_t beginnings(std::int64_t trials) const override { return std::min(trials, settings_.population); }
  std::int64_t most_given() const override { return settings_.population; }
  bool is_partial(const Segment&) const override { return false; }

 private:
  // The value drawn anew, or a number that is larger or smaller by the factor.
  double perturbed(std::size_t i, double value, Stream& draws) const {
    const double chance = draws.uniform(), direction = draws.uniform(), anew = draws.uniform();
    const SpaceParameter& p = space_[i];
    if (chance < settings_.resample || p.kind == SpaceParameter::Kind::choice)
      return chance < settings_.resample ? space_.from_unit(i, anew) : value;
    double moved = value * (direction < 0.5 ? settings_.factor : 1 / settings_.factor);
    // Rounding must not leave a whole number where it was.
    if (p.kind == SpaceParameter::Kind::integer && space_.nearest(i, moved) == value)
      moved = value + (direction < 0.5 ? 1 : -1) * std::max(p.step, 1.0);
    return space_.nearest(i, moved);
  }

  // The member's own trial of the generation before, or for a bad member one of the best trials there. Their last
  // reports are compared, and not the weights that they have kept: a member that has gone astray is to be replaced.
  std::int64_t parent(const Curves& trials, std::int64_t trial) const {
    const std::int64_t own = trial - settings_.population;
    const std::int64_t first = own / settings_.population * settings_.population;
    const std::vector<std::int64_t> order = ranking(trials, first, first + settings_.population, last_loss_of);
    const auto share = std::max<std::int64_t>(settings_.population / 4, 1);
    const auto rank = std::ranges::find(order, own) - order.begin();
    const bool is_worst = rank >= settings_.population - share || std::isinf(last_loss_of(trials, own));
    if (!is_worst || settings_.population == 1) return own;
    Stream draws = draws_.stream(trial, -1);
    return order[static_cast<std::size_t>(draws.below(static_cast<std::uint64_t>(share)))];
  }

  const Space space_;
  const PbtSettings settings_;
  const ParameterDraws draws_;
};

std::shared_ptr<const Scheduler> make_pbt(const Options& spec, const Space& space, std::int64_t seed, const Delivery&) {
  return std::make_shared<Pbt>(space, PbtSettings{.population = spec.integer("population"),
                                                  .interval = spec.integer("interval"),
                                                  .factor = spec.number("factor"),
                                                  .resample = spec.number("resample"),
                                                  .seed = sampler_seed(spec, seed)});
}

}  // namespace

void register_pbt(Registry& registry) {
  registry.add(
      Entry("scheduler.pbt", "scheduler", "Population-based training: parameters change while models train.")
          .with(Option("population", "number of members; each generation has one trial for each member")
                    .integer()
                    .at_least(2)
                    .or_default(8))
          .with(Option("interval", "number of validations in a generation").integer().at_least(1).or_default(1))
          .with(Option("factor", "factor by which a number grows or shrinks").number().more_than(1).or_default(1.2))
          .with(Option("resample", "probability that a parameter is drawn anew instead")
                    .number()
                    .at_least(0)
                    .at_most(1)
                    .or_default(0.25))
          .with(sampler_seed_option())
          .example("scheduler.pbt { population = 8, interval = 2 }")
          .note("Jaderberg et al. 2017, in generations. Each member continues from its checkpoint of the generation "
                "before; a member of the worst quarter continues from the checkpoint of a member of the best quarter, "
                "with changed parameters. The sampler chooses the parameters of the first generation. The trials of a "
                "sweep are the population times the number of generations. Members are compared by their last "
                "validations."),
      SchedulerFactory{make_pbt});
}

}  // namespace trainlab
