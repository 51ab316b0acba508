// The random sampler: each trial is drawn from the space's own distribution.
#include "samplers.h"

namespace trainlab {

namespace {

class Random final : public Sampler {
 public:
  Random(const Space& space, std::int64_t seed)
      : space_(space), draws_(space, Key(static_cast<std::uint64_t>(seed)).fold("random")) {}

  bool sample(std::int64_t trial, std::int64_t attempt, std::span<const std::span<const double>>,
              std::span<double> point) override {
    choose_open(space_, point, draws_.units(trial, attempt));
    return true;
  }

 private:
  const Space space_;
  ParameterDraws draws_;
};

std::unique_ptr<Sampler> make_random(const Options& spec, const Space& space, std::int64_t seed, std::size_t) {
  return random_sampler(space, sampler_seed(spec, seed));
}

}  // namespace

std::unique_ptr<Sampler> random_sampler(const Space& space, std::int64_t seed) {
  return std::make_unique<Random>(space, seed);
}

void register_random(Registry& registry) {
  registry.add(Entry("sampler.random", "sampler", "Draws each trial at random, whatever the other trials gave.")
                   .with(sampler_seed_option())
                   .example("sampler.random()"),
               SamplerKind{.make = make_random});
}

}  // namespace trainlab
