// lab.pruner: what a recipe writes for a pruner.
#include <limits>

#include "pruners.h"

namespace trainlab {

namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();

Option warmup_option() {
  return Option("warmup", "validations of a trial before it may be pruned").integer().at_least(0).or_default(0);
}
Option startup_option() {
  return Option("startup", "complete trials before the first is pruned").integer().at_least(1).or_default(5);
}
Option interval_option() {
  return Option("interval", "validations between two looks").integer().at_least(1).or_default(1);
}
Option reduction_option() {
  return Option("reduction", "of so many trials at a rung one goes on").integer().at_least(2).or_default(3);
}

std::unique_ptr<Pruner> make_percentile(const Options& spec, double share) {
  return percentile_pruner(
      share,
      {.startup = spec.integer("startup"), .warmup = spec.integer("warmup"), .interval = spec.integer("interval")});
}

std::unique_ptr<Pruner> make_threshold(const Options& spec, std::size_t) {
  if (!spec.given("lower") && !spec.given("upper"))
    throw spec.error("", "expected lower, upper, or both, found neither");
  return threshold_pruner(spec.given("lower") ? spec.number("lower") : -no_limit,
                          spec.given("upper") ? spec.number("upper") : no_limit, spec.integer("warmup"));
}

std::unique_ptr<Pruner> make_hyperband(const Options& spec, std::size_t) {
  if (spec.integer("max") < spec.integer("min")) {
    throw spec.error("max", "expected at least min = " + std::to_string(spec.integer("min")) + ", found " +
                                std::to_string(spec.integer("max")));
  }
  return hyperband_pruner(spec.integer("min"), spec.integer("max"), spec.integer("reduction"));
}

std::unique_ptr<Pruner> make_patience(const Options& spec, std::size_t objectives) {
  return patience_pruner(spec.integer("patience"), spec.number("min_delta"),
                         spec.given("base") ? make_pruner(spec.child("base"), objectives) : nullptr);
}

std::unique_ptr<Pruner> make_wilcoxon(const Options& spec, std::size_t objectives) {
  if (objectives > 1) throw spec.error("", "expected a study of one objective, found " + std::to_string(objectives));
  return wilcoxon_pruner(spec.number("p"), spec.integer("startup"));
}

}  // namespace

std::unique_ptr<Pruner> make_pruner(const Options& spec, std::size_t objectives) {
  return spec.registry().implementation<PrunerFactory>(spec.entry())(spec, objectives);
}

void register_pruner_entries(Registry& registry) {
  registry.add(Entry("pruner.median", "pruner",
                     "Gives up what is worse than the median of complete trials at the same validation.")
                   .with(startup_option())
                   .with(warmup_option())
                   .with(interval_option())
                   .example("pruner.median { warmup = 3 }")
                   .note("A trial is judged by its best value so far (Golovin et al. 2017), with several objectives by "
                         "the best of "
                         "each: others are worse than it by their Pareto fronts, and within a front by crowding."),
               PrunerFactory{[](const Options& spec, std::size_t) { return make_percentile(spec, 0.5); }});
  registry.add(Entry("pruner.percentile", "pruner", "As the median, with another share of trials that may go on.")
                   .with(Option("percentile", "the best so many go on")
                             .number()
                             .more_than(0)
                             .less_than(100)
                             .in("%")
                             .positional()
                             .required())
                   .with(startup_option())
                   .with(warmup_option())
                   .with(interval_option())
                   .example("pruner.percentile(25)"),
               PrunerFactory{[](const Options& spec, std::size_t) {
                 return make_percentile(spec, spec.number("percentile") / 100);
               }});
  registry.add(Entry("pruner.threshold", "pruner", "Gives up what leaves a range, and what is no number.")
                   .with(Option("lower", "smallest value that goes on").number())
                   .with(Option("upper", "largest value that goes on").number())
                   .with(warmup_option())
                   .example("pruner.threshold { upper = 10 }")
                   .note("It looks at the first objective."),
               PrunerFactory{make_threshold});
  registry.add(
      Entry("pruner.patience", "pruner", "Gives up what has not improved for some validations.")
          .with(Option("patience", "validations without an improvement").integer().at_least(1).positional().required())
          .with(Option("min_delta", "what counts as an improvement").number().at_least(0).or_default(0.0))
          .with(Option("base", "a pruner that must want it too").entry("pruner"))
          .example("pruner.patience(3, { base = pruner.median() })")
          .note("With several objectives an improvement is what no validation before equals in all of them."),
      PrunerFactory{make_patience});
  registry.add(Entry("pruner.asha", "pruner",
                     "Asynchronous successive halving: at rungs of growing length the best of each few go on.")
                   .with(Option("min", "validations before the first rung").integer().at_least(1).or_default(1))
                   .with(reduction_option())
                   .example("pruner.asha { min = 2, reduction = 3 }")
                   .note("Li et al. 2020, in the variant that stops trials and never waits: rungs lie at min, "
                         "min · reduction, min · reduction² … validations. A trial meets a rung with its first report "
                         "there or beyond. Several objectives are ranked by Pareto fronts, and within a front by "
                         "crowding (as in Schmucker et al. 2021)."),
               PrunerFactory{[](const Options& spec, std::size_t) {
                 return asha_pruner(spec.integer("min"), spec.integer("reduction"));
               }});
  registry.add(
      Entry("pruner.hyperband", "pruner",
            "Successive halving in several brackets, from many short trials to few long ones.")
          .with(Option("min", "validations before the first rung").integer().at_least(1).or_default(1))
          .with(Option("max", "validations of a whole trial").integer().at_least(1).required())
          .with(reduction_option())
          .example("pruner.hyperband { max = 27 }")
          .note(
              "Li et al. 2018, in the variant that stops trials and never waits: each bracket is a pruner.asha of its "
              "own. With η = reduction and s_max = ⌊log_η(max / min)⌋ there are brackets s = 0 … s_max; bracket s "
              "has s rungs, the first after min · η^(s_max − s) validations, and gets "
              "⌈(s_max + 1) · η^s / (s + 1)⌉ of each round of trials. In bracket 0 all trials run to their end."),
      PrunerFactory{make_hyperband});
  registry.add(
      Entry("pruner.wilcoxon", "pruner",
            "Gives up a configuration whose seeds are significantly worse than the best one's.")
          .with(Option("p", "chance at which a difference counts").number().more_than(0).less_than(1).or_default(0.1))
          .with(Option("startup", "seeds of a trial before it may be pruned").integer().at_least(2).or_default(4))
          .example("pruner.wilcoxon { p = 0.05 }")
          .note(
              "Wilcoxon's signed-rank test (1945), exact up to 40 seeds. The last value of each seed is compared with "
              "that of the best one's same seed after as many validations; seeds that it lacks and differences of "
              "zero are left out. One whose mean over these is no worse goes on. For one objective."),
      PrunerFactory{make_wilcoxon});
}

}  // namespace trainlab
