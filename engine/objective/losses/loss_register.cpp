#include "objective/losses.h"

namespace trainlab {

Entry loss_entry(const std::string& name, std::string doc) {
  return Entry("loss." + name, "loss", std::move(doc))
      .with(target_option())
      .with(Option("weight", "factor of this loss in a loss.sum").number().at_least(0).or_default(1.0));
}

}  // namespace trainlab
