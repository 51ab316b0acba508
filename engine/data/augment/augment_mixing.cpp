// augment.mixup and augment.cutmix.
#include "augmentation.h"

namespace trainlab {

namespace {

Option alpha_option(double by_default) {
  return Option("alpha", "parameter of the distribution Beta(alpha, alpha), from which λ is drawn")
      .number()
      .more_than(0)
      .or_default(by_default)
      .positional();
}
Option batch_chance() {
  return Option("p", "probability that a batch is mixed").number().at_least(0).at_most(1).or_default(1.0);
}

MixingFactory factory(bool cuts) {
  return [cuts](const Options& spec) { return Mixing{cuts, spec.number("alpha"), spec.number("p")}; };
}

}  // namespace

void register_augment_mixing(Registry& registry) {
  registry.add(Entry("augment.mixup", "augment",
                     "Mixes each sample of a batch and its target with another sample: λ · sample + (1 − λ) · other.")
                   .with(alpha_option(0.2))
                   .with(batch_chance())
                   .example("augment.mixup(0.2)")
                   .note("Zhang et al. 2018, \"mixup: beyond empirical risk minimization\". A batch has one λ, and "
                         "each sample is mixed with the sample before it in the batch. Labels become shares, y float "
                         "[B, classes]; losses for class labels accept labels and shares. With mixup and cutmix in one "
                         "list, each batch draws which of the two is applied."),
               factory(false));
  registry.add(
      Entry("augment.cutmix", "augment",
            "Replaces a rectangle of each sample of a batch by that of another sample; targets are mixed by area.")
          .with(alpha_option(1))
          .with(batch_chance())
          .example("augment.cutmix(1)")
          .note("Yun et al. 2019, \"CutMix: regularization strategy to train strong classifiers with localizable "
                "features\". All else is as in augment.mixup."),
      factory(true));
}

}  // namespace trainlab
