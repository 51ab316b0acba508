// NSGA-II: for several objectives. The best of parents and children become parents, by fronts and then by how lonely
// they are; children take each parameter from one of two parents and sometimes a new one. Deb et al. 2002.
//
// A generation is every `population` trials that have ended, in that order, so that no worker waits for another.
#include <algorithm>
#include <cmath>

#include "analysis/pareto.h"
#include "samplers.h"

namespace trainlab {

namespace {

struct Nsga2Settings {
  std::int64_t population;
  std::int64_t seed;
};

constexpr double crossover = 0.9;  // share of children that have two parents

class Nsga2 final : public Sampler {
 public:
  Nsga2(const Space& space, const Nsga2Settings& settings, std::size_t objectives)
      : space_(space),
        settings_(settings),
        objectives_(objectives),
        draws_(space_, Key(static_cast<std::uint64_t>(settings.seed)).fold("nsga2")) {
    const auto searched = std::ranges::count_if(space_.parameters(), [](const auto& p) { return p.count() != 1; });
    mutation_ = 1 / static_cast<double>(std::max<std::ptrdiff_t>(searched, 1));
  }

  bool learns() const override { return true; }

  void observe(const Observation& trial) override {
    // A pruned trial has one value, not one for each objective.
    if (trial.values.size() != objectives_ || trial.state != TrialState::complete) return;
    points_.insert(points_.end(), trial.point.begin(), trial.point.end());
    values_.insert(values_.end(), trial.values.begin(), trial.values.end());
    if (static_cast<std::int64_t>(++children_) == settings_.population) select();
  }

  bool sample(std::int64_t trial, std::int64_t attempt, std::span<const std::span<const double>>,
              std::span<double> point) override {
    auto units = draws_.units(trial, attempt);
    if (!parents_.empty()) {
      Stream random = draws_.stream(trial, attempt);
      const std::size_t first = tournament(random);
      const std::size_t second = random.uniform() < crossover ? tournament(random) : first;
      for (const std::size_t i : space_.order()) {
        const std::size_t parent = random.uniform() < 0.5 ? first : second;
        const bool anew = random.uniform() < mutation_;
        if (!std::isnan(point[i]) || !space_.active(i, point)) continue;
        if (!anew) {
          point[i] = points_[parent * space_.size() + i];
          if (std::isnan(point[i])) point[i] = points_[(parent == first ? second : first) * space_.size() + i];
        }
        // At once, for what depends on it comes next.
        if (std::isnan(point[i])) point[i] = space_.from_unit(i, units(i));
      }
    }
    choose_open(space_, point, units);
    return true;
  }

 private:
  // The better of two parents at random: of an earlier front, then the lonelier one.
  std::size_t tournament(Stream& random) const {
    const std::size_t a = random.below(parents_.size()), b = random.below(parents_.size());
    const Parent &one = parents_[a], &other = parents_[b];
    if (one.front != other.front) return one.front < other.front ? a : b;
    return one.crowding >= other.crowding ? a : b;
  }

  // Parents and children: the best `population` of them become parents, and stay in points_ and values_ in that order.
  void select() {
    const auto wanted = static_cast<std::size_t>(settings_.population);
    std::vector<Parent> chosen;
    std::vector<std::uint32_t> kept;
    const auto fronts = pareto_fronts(values_, objectives_, wanted);
    for (std::size_t f = 0; f < fronts.size(); ++f) {
      const std::vector<double> lonely = crowding(values_, objectives_, fronts[f]);
      std::vector<std::size_t> order(fronts[f].size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return lonely[a] > lonely[b]; });
      for (const std::size_t i : order) {
        if (kept.size() == wanted) break;
        kept.push_back(fronts[f][i]);
        chosen.push_back({f, lonely[i]});
      }
    }
    points_ = rows_at(points_, space_.size(), kept);
    values_ = rows_at(values_, objectives_, kept);
    parents_ = std::move(chosen);
    children_ = 0;
  }

  struct Parent {
    std::size_t front;
    double crowding;
  };

  const Space space_;
  Nsga2Settings settings_;
  std::size_t objectives_;
  ParameterDraws draws_;
  double mutation_ = 1;  // chance of a parameter to be drawn anew
  std::vector<Parent> parents_;
  std::vector<double> points_, values_;  // of the parents, then of their children so far
  std::size_t children_ = 0;
};

std::unique_ptr<Sampler> make_nsga2(const Options& spec, const Space& space, std::int64_t seed,
                                    std::size_t objectives) {
  return std::make_unique<Nsga2>(
      space, Nsga2Settings{.population = spec.integer("population"), .seed = sampler_seed(spec, seed)}, objectives);
}

}  // namespace

void register_nsga2(Registry& registry) {
  registry.add(
      Entry("sampler.nsga2", "sampler", "A genetic algorithm for several objectives and hundreds of trials.")
          .with(Option("population", "number of parents in a generation").integer().at_least(2).or_default(50))
          .with(sampler_seed_option())
          .example("sampler.nsga2()")
          .note(
              "Deb et al. 2002, with uniform crossover: nine of ten children have two parents. Each parameter is drawn "
              "anew with a probability of one over the number of parameters that are searched."),
      SamplerKind{.make = make_nsga2});
}

}  // namespace trainlab
