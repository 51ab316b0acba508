// Successive halving (Jamieson and Talwalkar 2016, "Non-stochastic best arm identification and hyperparameter
// optimization"), synchronous: many configurations train for a little, the best 1/η of them go on for η times as long,
// and so on until fewer than η are left. A trial is one configuration's training from one rung to the next and goes on
// from the checkpoint of its trial before; a rung begins when the one before has ended. Then it begins anew with other
// configurations.
#include <cmath>

#include "lineage.h"
#include "samplers.h"

namespace trainlab {

namespace {

struct HalvingSettings {
  std::int64_t configurations;  // of the first rung
  std::int64_t min;             // validations of the first rung
  std::int64_t reduction;
  std::int64_t seed;
};

class Halving final : public Sampler {
 public:
  Halving(const Space& space, const HalvingSettings& settings)
      : space_(space), draws_(space, Key(static_cast<std::uint64_t>(settings.seed)).fold("halving")) {
    std::int64_t until = settings.min;
    for (std::int64_t count = settings.configurations; count > 0; count /= settings.reduction) {
      rungs_.push_back({.first = round_, .count = count, .until = until});
      round_ += count;
      until *= settings.reduction;
    }
  }

  bool learns() const override { return true; }
  bool waits_itself() const override { return true; }
  void observe(const Observation& trial) override { lineage_.observe(trial); }

  bool is_ready(std::int64_t trial) const override {
    const auto [rung, before] = place(trial);
    return !before || lineage_.has_ended(*before, *before + rung[-1].count);
  }

  std::int64_t until(std::int64_t trial) const override { return place(trial).rung->until; }
  std::optional<Segment> segment(std::int64_t trial) const override {
    return Segment{.parent = parent(trial), .until = until(trial)};
  }

  bool sample(std::int64_t trial, std::int64_t attempt, std::span<const std::span<const double>>,
              std::span<double> point) override {
    if (const std::optional<std::int64_t> from = parent(trial)) {
      const std::vector<double>& known = lineage_.point(*from);
      for (const std::size_t i : space_.order()) {
        if (std::isnan(point[i]) && space_.active(i, point)) point[i] = known[i];
      }
    }
    // Of a first rung all; of others what is active only because a value was given.
    choose_open(space_, point, [&](std::size_t i) { return draws_.unit(i, trial, attempt); });
    return true;
  }

 private:
  struct Rung {
    std::int64_t first, count;  // trials, counted from the round's first
    std::int64_t until;         // validations in all
  };
  struct Place {
    const Rung* rung;
    std::optional<std::int64_t> before;  // the first trial of the rung below
  };

  Place place(std::int64_t trial) const {
    const std::int64_t in_round = trial % round_;
    std::size_t r = 0;
    while (in_round >= rungs_[r].first + rungs_[r].count) ++r;
    if (r == 0) return {.rung = &rungs_[0], .before = {}};
    return {.rung = &rungs_[r], .before = trial - in_round + rungs_[r - 1].first};
  }

  // The k-th trial of a rung goes on from the k-th best of the rung below.
  std::optional<std::int64_t> parent(std::int64_t trial) const {
    const auto [rung, before] = place(trial);
    if (!before) return std::nullopt;
    const auto rank = static_cast<std::size_t>(trial % round_ - rung->first);
    return lineage_.ranking(*before, *before + rung[-1].count)[rank];
  }

  const Space space_;
  ParameterDraws draws_;
  std::vector<Rung> rungs_;
  std::int64_t round_ = 0;  // trials of all rungs
  Lineage lineage_;
};

std::unique_ptr<Sampler> make_halving(const Options& spec, const Space& space, std::int64_t seed,
                                      std::size_t objectives) {
  require_single_objective(spec, objectives);
  return std::make_unique<Halving>(space, HalvingSettings{.configurations = spec.integer("configurations"),
                                                          .min = spec.integer("min"),
                                                          .reduction = spec.integer("reduction"),
                                                          .seed = sampler_seed(spec, seed)});
}

}  // namespace

void register_halving(Registry& registry) {
  registry.add(
      Entry("sampler.halving", "sampler", "Successive halving: many configurations begin, the best of each few go on.")
          .with(Option("configurations", "random configurations that start each round")
                    .integer()
                    .at_least(2)
                    .or_default(27))
          .with(Option("min", "validations of the first rung").integer().at_least(1).or_default(1))
          .with(Option("reduction", "keep the best 1 in N; each survivor trains N times as long")
                    .integer()
                    .at_least(2)
                    .or_default(3))
          .with(sampler_seed_option())
          .example("sampler.halving { configurations = 27, reduction = 3 }")
          .note("Jamieson and Talwalkar 2016. A trial is one configuration's training from one rung to the next; it "
                "continues from the checkpoint of the configuration's trial in the rung before. A rung begins when the "
                "rung before has ended. A round of 27, 9, 3 and 1 has 40 trials; more trials begin another round. "
                "pruner.asha halves without waiting."),
      SamplerKind{.make = make_halving});
}

}  // namespace trainlab
