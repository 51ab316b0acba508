// lab.sampler: what a recipe writes for a sampler.
#include <algorithm>
#include <cmath>

#include "samplers.h"

namespace trainlab {

namespace {

std::int64_t seed_of(const Options& spec, std::int64_t study_seed) {
  return spec.given("seed") ? spec.integer("seed") : study_seed;
}

void require_one_objective(const Options& spec, std::size_t objectives) {
  if (objectives > 1) throw spec.error("", "expected a study of one objective, found " + std::to_string(objectives));
}

Option seed_option() { return Option("seed", "of its draws; the study's unless given").integer().at_least(0); }

std::unique_ptr<Sampler> make_random(const Options& spec, const Space& space, std::int64_t seed, std::size_t) {
  return random_sampler(space, seed_of(spec, seed));
}

// Every value of countable parameters; of ranges the `points` that divide them evenly.
std::unique_ptr<Sampler> make_grid(const Options& spec, const Space& space, std::int64_t seed, std::size_t) {
  std::vector<std::vector<double>> values(space.size());
  for (std::size_t i = 0; i < space.size(); ++i) {
    const SpaceParameter& p = space[i];
    std::int64_t count = p.count();
    if (count == 0) {
      if (!spec.given("points")) {
        throw spec.error("points", "the range of '" + p.name + "' has no end of values")
            .hint("give points = n, a step, or lab.space.choice { … }");
      }
      count = spec.integer("points");
    }
    count = std::min(count, most_grid_points + 1);
    for (std::int64_t k = 0; k < count; ++k) {
      if (p.count() > 0) {
        values[i].push_back(p.kind == SpaceParameter::Kind::choice ? static_cast<double>(k)
                                                                   : p.low + p.step * static_cast<double>(k));
        continue;
      }
      // Both ends are points of it.
      const double share = count > 1 ? static_cast<double>(k) / static_cast<double>(count - 1) : 0.5;
      const double value = p.log ? std::exp(std::log(p.low) + share * (std::log(p.high) - std::log(p.low)))
                                 : p.low + share * (p.high - p.low);
      values[i].push_back(space.nearest(i, value));
    }
  }
  try {
    return grid_sampler(space, std::move(values), spec.boolean("shuffle"), seed_of(spec, seed));
  } catch (const Error& error) {
    throw spec.error("", error.message());
  }
}

std::unique_ptr<Sampler> make_sobol(const Options& spec, const Space& space, std::int64_t seed, std::size_t) {
  if (space.size() > most_sobol_parameters) {
    throw spec.error("", "expected at most " + std::to_string(most_sobol_parameters) + " parameters, found " +
                             std::to_string(space.size()));
  }
  return sobol_sampler(space, seed_of(spec, seed));
}

std::unique_ptr<Sampler> make_halton(const Options& spec, const Space& space, std::int64_t seed, std::size_t) {
  return halton_sampler(space, seed_of(spec, seed));
}

std::unique_ptr<Sampler> make_tpe(const Options& spec, const Space& space, std::int64_t seed, std::size_t objectives) {
  return tpe_sampler(
      space,
      {.startup = spec.integer("startup"), .candidates = spec.integer("candidates"), .seed = seed_of(spec, seed)},
      objectives);
}

std::unique_ptr<Sampler> make_cma_es(const Options& spec, const Space& space, std::int64_t seed,
                                     std::size_t objectives) {
  require_one_objective(spec, objectives);
  const auto& all = space.parameters();
  const bool has_numbers = std::any_of(all.begin(), all.end(), [](const SpaceParameter& p) {
    return p.kind != SpaceParameter::Kind::choice && p.conditions.empty() && p.count() != 1;
  });
  if (!has_numbers) {
    throw spec.error("", "expected a space with a number that is active in every trial, found none")
        .hint("lab.sampler.tpe searches choices and conditional parameters");
  }
  return cma_es_sampler(
      space, {.population = spec.given("population") ? spec.integer("population") : 0, .seed = seed_of(spec, seed)});
}

std::unique_ptr<Sampler> make_gp(const Options& spec, const Space& space, std::int64_t seed, std::size_t objectives) {
  require_one_objective(spec, objectives);
  return gp_sampler(space, {.startup = spec.integer("startup"), .seed = seed_of(spec, seed)});
}

std::unique_ptr<Sampler> make_nsga2(const Options& spec, const Space& space, std::int64_t seed,
                                    std::size_t objectives) {
  return nsga2_sampler(space, {.population = spec.integer("population"), .seed = seed_of(spec, seed)}, objectives);
}

std::unique_ptr<Sampler> make_pbt(const Options& spec, const Space& space, std::int64_t seed, std::size_t objectives) {
  require_one_objective(spec, objectives);
  return pbt_sampler(space, {.population = spec.integer("population"),
                             .interval = spec.integer("interval"),
                             .factor = spec.number("factor"),
                             .resample = spec.number("resample"),
                             .seed = seed_of(spec, seed)});
}

std::unique_ptr<Sampler> make_halving(const Options& spec, const Space& space, std::int64_t seed,
                                      std::size_t objectives) {
  require_one_objective(spec, objectives);
  return halving_sampler(space, {.configurations = spec.integer("configurations"),
                                 .min = spec.integer("min"),
                                 .reduction = spec.integer("reduction"),
                                 .seed = seed_of(spec, seed)});
}

}  // namespace

std::unique_ptr<Sampler> make_sampler(const Options& spec, const Space& space, std::int64_t seed,
                                      std::size_t objectives) {
  return spec.registry().implementation<SamplerFactory>(spec.entry())(spec, space, seed, objectives);
}

void register_sampler_entries(Registry& registry) {
  registry.add(Entry("sampler.random", "sampler", "Each trial at random, whatever came of the others.")
                   .with(seed_option())
                   .example("sampler.random()"),
               SamplerFactory{make_random});
  registry.add(
      Entry("sampler.grid", "sampler", "Every combination once; the sweep ends when they are used up.")
          .with(Option("points", "values of each range without a step, ends included")
                    .integer()
                    .at_least(1)
                    .at_most(1000))
          .with(Option("shuffle", "in random order, so that a sweep that is cut short covers the space")
                    .boolean()
                    .or_default(false))
          .with(seed_option())
          .example("sampler.grid { points = 5 }")
          .note("The parameter whose name comes last in the alphabet changes fastest. Inactive parameters do not "
                "multiply the grid. A point that is given (enqueue) and is one of the grid's is not tried again."),
      SamplerFactory{make_grid});
  registry.add(
      Entry("sampler.tpe", "sampler", "Tree-structured Parzen estimator: looks where good trials lie densely.")
          .with(Option("startup", "trials at random before").integer().at_least(1).or_default(10))
          .with(Option("candidates", "draws of which the most promising is taken").integer().at_least(1).or_default(32))
          .with(seed_option())
          .example("sampler.tpe { seed = 1 }")
          .note("Bergstra et al. 2011, with one density for all parameters that are active together (Falkner, "
                "Klein and Hutter 2018), and trials that are still running counted as bad ones. The best 12 %, "
                "25 at most, are the good ones."),
      SamplerFactory{make_tpe});
  registry.add(
      Entry("sampler.cma_es", "sampler", "Covariance matrix adaptation: for some dozen numbers and hundreds of trials.")
          .with(Option("population", "trials of a generation; 3 + ⌊3 ln n⌋ of n numbers unless given, 4 at least")
                    .integer()
                    .at_least(3))
          .with(seed_option())
          .example("sampler.cma_es()")
          .note("Hansen 2016, with rates for hundreds of trials rather than tens of thousands, and the margin of "
                "Hamano et "
                "al. 2022 for whole numbers. Choices and conditional parameters are drawn at random."),
      SamplerFactory{make_cma_es});
  registry.add(
      Entry("sampler.sobol", "sampler", "Quasi-random: covers the space more evenly than chance. Best with 2^k trials.")
          .with(seed_option())
          .example("sampler.sobol()")
          .note("Sobol points of Joe and Kuo 2008 with Owen's scrambling (Burley 2020)."),
      SamplerFactory{make_sobol});
  registry.add(
      Entry("sampler.halton", "sampler", "Quasi-random, for any number of trials and up to a dozen parameters.")
          .with(seed_option())
          .example("sampler.halton()")
          .note("Halton 1960, its digits permuted at random. With many parameters Sobol points are more even."),
      SamplerFactory{make_halton});
  registry.add(
      Entry("sampler.gp", "sampler", "Gaussian process: for few, expensive trials of up to a dozen parameters.")
          .with(Option("startup", "trials at random before").integer().at_least(2).or_default(10))
          .with(seed_option())
          .example("sampler.gp()")
          .note("Matérn kernel (ν = 5/2) with a length for each parameter, expected improvement in its logarithm "
                "(Ament et al. 2023). The time of a choice grows with the third power of the trials, up to 400 "
                "that are taken in. Choices and conditional parameters are searched too."),
      SamplerFactory{make_gp});
  registry.add(
      Entry("sampler.nsga2", "sampler", "A genetic algorithm for several objectives and hundreds of trials.")
          .with(Option("population", "parents of a generation").integer().at_least(2).or_default(50))
          .with(seed_option())
          .example("sampler.nsga2()")
          .note("Deb et al. 2002, with uniform crossover: nine of ten children have two parents; each parameter "
                "is drawn anew with a chance of one in the number of those that are searched."),
      SamplerFactory{make_nsga2});
  registry.add(
      Entry("sampler.halving", "sampler", "Successive halving: many configurations begin, the best of each few go on.")
          .with(Option("configurations", "at random, that begin").integer().at_least(2).or_default(27))
          .with(Option("min", "validations of the first rung").integer().at_least(1).or_default(1))
          .with(Option("reduction", "of so many one goes on, for so many times as long")
                    .integer()
                    .at_least(2)
                    .or_default(3))
          .with(seed_option())
          .example("sampler.halving { configurations = 27, reduction = 3 }")
          .note("Jamieson and Talwalkar 2016. Each rung waits for the one before and goes on from its checkpoints: a "
                "trial "
                "is one configuration's way from rung to rung. A round of 27, 9, 3 and 1 has 40 trials; more than that "
                "begin another one. pruner.asha does the same without waiting."),
      SamplerFactory{make_halving});
  registry.add(
      Entry("sampler.pbt", "sampler", "Population-based training: parameters change while models train.")
          .with(Option("population", "members; a generation has a trial of each").integer().at_least(2).or_default(8))
          .with(Option("interval", "validations of a generation").integer().at_least(1).or_default(1))
          .with(Option("factor", "by which a number grows or shrinks").number().more_than(1).or_default(1.2))
          .with(Option("resample", "chance that a parameter is drawn anew instead")
                    .number()
                    .at_least(0)
                    .at_most(1)
                    .or_default(0.25))
          .with(seed_option())
          .example("sampler.pbt { population = 8, interval = 2 }")
          .note(
              "Jaderberg et al. 2017, in generations: each goes on from the checkpoints of the one before, and members "
              "of the worst quarter from one of the best quarter, with other parameters. The trials of a sweep are the "
              "population times the number of generations. A trial's value is that of its last validation."),
      SamplerFactory{make_pbt});
}

}  // namespace trainlab
