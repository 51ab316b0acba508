// augment.mixup and augment.cutmix.
#include "augmentation.h"

namespace trainlab {

namespace {

Option alpha_option(double by_default) {
  return Option("alpha", "λ is drawn from Beta(alpha, alpha)")
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
  registry.add(
      Entry("augment.mixup", "augment",
            "Mixes each sample of a batch and its target with another: λ of it, 1 − λ of the other.")
          .with(alpha_option(0.2))
          .with(batch_chance())
          .example("augment.mixup(0.2)")
          .note("Zhang et al. 2018, \"mixup: beyond empirical risk minimization\". One λ for a batch; the other is the "
                "sample before it in the batch. Labels become shares, y float [B, classes]: losses for class labels "
                "take both. With mixup and cutmix in one list each batch draws one of them."),
      factory(false));
  registry.add(
      Entry("augment.cutmix", "augment",
            "Puts a rectangle of another sample into each sample of a batch; targets are mixed by area.")
          .with(alpha_option(1))
          .with(batch_chance())
          .example("augment.cutmix(1)")
          .note("Yun et al. 2019, \"CutMix: regularization strategy to train strong classifiers with localizable "
                "features\". Otherwise as augment.mixup."),
      factory(true));
}

}  // namespace trainlab
