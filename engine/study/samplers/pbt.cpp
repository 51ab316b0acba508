// Population-based training (Jaderberg et al. 2017, "Population based training of neural networks"), in generations: a
// trial is one member's training for some validations, and goes on from the checkpoint of a trial of the generation
// before. Members of the worst quarter go on from one of the best quarter with parameters that are perturbed
// (section 3: truncation selection; perturb and resample).
//
// A generation begins when the one before has ended, so that what is chosen does not depend on how many processes work.
#include <algorithm>
#include <cmath>

#include "lineage.h"
#include "samplers.h"

namespace trainlab {

namespace {

struct PbtSettings {
  std::int64_t population;
  std::int64_t interval;  // validations of a generation
  double factor, resample;
  std::int64_t seed;
};

class Pbt final : public Sampler {
 public:
  Pbt(const Space& space, const PbtSettings& settings)
      : space_(space), settings_(settings), draws_(space, Key(static_cast<std::uint64_t>(settings.seed)).fold("pbt")) {}

  bool learns() const override { return true; }
  bool waits_itself() const override { return true; }

  void observe(const Observation& trial) override { lineage_.observe(trial); }

  bool is_ready(std::int64_t trial) const override {
    const std::int64_t first = trial / settings_.population * settings_.population;
    return first == 0 || lineage_.has_ended(first - settings_.population, first);
  }

  std::int64_t until(std::int64_t trial) const override {
    return (trial / settings_.population + 1) * settings_.interval;
  }
  std::optional<Segment> segment(std::int64_t trial) const override {
    Segment segment{.parent = {}, .until = until(trial)};
    if (trial >= settings_.population) segment.parent = parent(trial);
    return segment;
  }

  bool sample(std::int64_t trial, std::int64_t attempt, std::span<const std::span<const double>>,
              std::span<double> point) override {
    if (trial >= settings_.population) {
      const std::int64_t from = parent(trial);
      const std::vector<double>& known = lineage_.point(from);
      const bool is_copy = from == trial - settings_.population;
      Stream draws = draws_.stream(trial, attempt);
      for (const std::size_t i : space_.order()) {
        if (!std::isnan(point[i]) || !space_.active(i, point)) continue;
        point[i] = is_copy || std::isnan(known[i]) ? known[i] : perturbed(i, known[i], draws);
      }
    }
    // Of the first generation all; later what has become active with a choice.
    choose_open(space_, point, [&](std::size_t i) { return draws_.unit(i, trial, attempt); });
    return true;
  }

 private:
  // Drawn anew, or a number that becomes larger or smaller by the factor.
  double perturbed(std::size_t i, double value, Stream& draws) const {
    const double chance = draws.uniform(), direction = draws.uniform(), anew = draws.uniform();
    const SpaceParameter& p = space_[i];
    if (chance < settings_.resample || p.kind == SpaceParameter::Kind::choice)
      return chance < settings_.resample ? space_.from_unit(i, anew) : value;
    double moved = value * (direction < 0.5 ? settings_.factor : 1 / settings_.factor);
    // A whole number moves at all.
    if (p.kind == SpaceParameter::Kind::integer && space_.nearest(i, moved) == value)
      moved = value + (direction < 0.5 ? 1 : -1) * std::max(p.step, 1.0);
    return space_.nearest(i, moved);
  }

  // Where the member of this trial goes on from: its own trial of the generation before, or one of the best there.
  std::int64_t parent(std::int64_t trial) const {
    const std::int64_t own = trial - settings_.population;
    const std::int64_t first = own / settings_.population * settings_.population;
    const std::vector<std::int64_t> order = lineage_.ranking(first, first + settings_.population);
    const auto share = std::max<std::int64_t>(settings_.population / 4, 1);
    const auto rank = std::ranges::find(order, own) - order.begin();
    const bool is_worst = rank >= settings_.population - share || std::isinf(lineage_.value(own));
    if (!is_worst || settings_.population == 1) return own;
    Stream draws = draws_.stream(trial, -1);
    return order[static_cast<std::size_t>(draws.below(static_cast<std::uint64_t>(share)))];
  }

  const Space space_;
  PbtSettings settings_;
  ParameterDraws draws_;
  Lineage lineage_;
};

std::unique_ptr<Sampler> make_pbt(const Options& spec, const Space& space, std::int64_t seed, std::size_t objectives) {
  require_single_objective(spec, objectives);
  return std::make_unique<Pbt>(space, PbtSettings{.population = spec.integer("population"),
                                                  .interval = spec.integer("interval"),
                                                  .factor = spec.number("factor"),
                                                  .resample = spec.number("resample"),
                                                  .seed = sampler_seed(spec, seed)});
}

}  // namespace

void register_pbt(Registry& registry) {
  registry.add(
      Entry("sampler.pbt", "sampler", "Population-based training: parameters change while models train.")
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
          .example("sampler.pbt { population = 8, interval = 2 }")
          .note("Jaderberg et al. 2017, in generations. Each member continues from its checkpoint of the generation "
                "before; a member of the worst quarter continues from the checkpoint of a member of the best quarter, "
                "with changed parameters. The trials of a sweep are the population times the number of generations. A "
                "trial's value is the value of its last validation."),
      SamplerKind{.make = make_pbt});
}

}  // namespace trainlab
