// The Gaussian process sampler: the next trial lies where the expected improvement is largest; with several objectives
// where the volume that the trials dominate is expected to grow most.
#include "expected_improvement.h"
#include "samplers.h"

namespace trainlab {

namespace {

struct GpSettings {
  std::int64_t startup;  // trials before the sampler learns
  std::int64_t seed;
};

// The volume has up to twice as many boxes as points of the front with three objectives, and many more with four.
constexpr std::size_t most_objectives = 3;

class Gp final : public Sampler {
 public:
  Gp(const Space& space, const GpSettings& settings, std::size_t objectives)
      : space_(space),
        settings_(settings),
        objectives_(objectives),
        draws_(space_, Key(static_cast<std::uint64_t>(settings.seed)).fold("gp")),
        start_(space_.size() <= most_sobol_parameters ? sobol_sampler(space_, settings.seed)
                                                      : random_sampler(space_, settings.seed)),
        improvement_(space_, objectives) {}

  bool learns() const override { return true; }

  void set_allowed(std::function<bool(std::span<const double>)>&& allowed) override { allowed_ = std::move(allowed); }

  void observe(const Observation& trial) override {
    if (trial.state == TrialState::failed) return;
    // A pruned trial need not have the values of all objectives.
    if (objectives_ > 1 && trial.state != TrialState::complete) return;
    improvement_.add(trial.point, trial.values);
  }

  bool sample(std::int64_t trial, std::int64_t attempt, std::span<const std::span<const double>> running,
              std::span<double> point) override {
    if (improvement_.count() < settings_.startup || !improvement_.searches())
      return start_->sample(trial, attempt, running, point);
    const std::vector<double> chosen = improvement_.best(draws_.stream(trial, attempt), running, point, allowed_).point;
    std::copy(chosen.begin(), chosen.end(), point.begin());
    choose_open(space_, point, draws_.units(trial, attempt));
    return true;
  }

 private:
  const Space space_;
  GpSettings settings_;
  std::size_t objectives_;
  ParameterDraws draws_;
  std::unique_ptr<Sampler> start_;  // quasi-random, so that the first trials leave no corner out
  ExpectedImprovement improvement_;
  ExpectedImprovement::Allowed allowed_;
};

std::unique_ptr<Sampler> make_gp(const Options& spec, const Space& space, std::int64_t seed, std::size_t objectives) {
  if (objectives > most_objectives) {
    throw spec
        .error("", "expected a study of at most " + std::to_string(most_objectives) + " objectives, found " +
                       std::to_string(objectives))
        .hint("lab.sampler.tpe and lab.sampler.nsga2 take any number of objectives");
  }
  return std::make_unique<Gp>(space, GpSettings{.startup = spec.integer("startup"), .seed = sampler_seed(spec, seed)},
                              objectives);
}

}  // namespace

void register_gp(Registry& registry) {
  registry.add(
      Entry("sampler.gp", "sampler", "Gaussian process: for few, expensive trials of up to a dozen parameters.")
          .with(Option("startup", "number of quasi-random trials before the sampler learns")
                    .integer()
                    .at_least(2)
                    .or_default(10))
          .with(sampler_seed_option())
          .example("sampler.gp()")
          .note(
              "A Matérn kernel (ν = 5/2) with a length for each parameter, and the logarithm of the expected "
              "improvement (Ament et al. 2023). With two or three objectives, each has a process of its own, and the "
              "improvement is the growth of the dominated volume (Daulton et al. 2020) up to a reference point a tenth "
              "of the front's range beyond its worst values; with three, every other choice leaves out the worst tenth "
              "of each. With several objectives, pruned trials do not count. "
              "The time for a choice grows with the third power of the number of trials; at most "
              "400 trials are taken into account. Choices and conditional parameters are searched too."),
      SamplerKind{.make = make_gp});
}

}  // namespace trainlab
