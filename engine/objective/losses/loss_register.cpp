#include "objective/losses.h"

namespace trainlab {

Entry loss_entry(const std::string& name, std::string doc) {
  return Entry("loss." + name, "loss", std::move(doc))
      .with(Option("target", "column of the batch that holds the targets").string().or_default("y"))
      .with(Option("weight", "factor of this loss in a loss.sum").number().at_least(0).or_default(1.0));
}

void register_losses(Registry& registry) {
  register_class_losses(registry);
  register_regression_losses(registry);
  register_bce(registry);
  register_margin_losses(registry);
  register_dice(registry);
  register_sequence_losses(registry);
  register_sum(registry);
}

}  // namespace trainlab
