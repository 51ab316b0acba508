#include "samplers.h"

namespace trainlab {

ParameterDraws::ParameterDraws(const Space& space, Key key) : key_(key) {
  for (const SpaceParameter& p : space.parameters()) names_.push_back(Key(0).fold(p.name).bits());
}

Option sampler_seed_option() {
  return Option("seed", "seed of the draws (default: the study's seed)").integer().at_least(0);
}

std::int64_t sampler_seed(const Options& spec, std::int64_t study_seed) {
  return spec.given("seed") ? spec.integer("seed") : study_seed;
}

std::unique_ptr<Sampler> make_sampler(const Options& spec, const Space& space, std::int64_t seed,
                                      std::size_t objectives) {
  return spec.registry().implementation<SamplerKind>(spec.entry()).make(spec, space, seed, objectives);
}

bool sampler_ends(const Options& spec) { return spec.registry().implementation<SamplerKind>(spec.entry()).ends; }

}  // namespace trainlab
