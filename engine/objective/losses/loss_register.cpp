#include <stdexcept>

#include "objective/losses.h"

namespace trainlab {

LossValue Loss::of_linear(const at::Tensor&, const at::Tensor&, const at::Tensor&, at::ScalarType,
                          const BatchView&) const {
  throw std::logic_error("Loss: not one of a linear map");
}

Entry loss_entry(const std::string& name, std::string doc) {
  return Entry("loss." + name, "loss", std::move(doc))
      .with(target_option())
      .with(Option("weight", "factor of this loss in a loss.sum").number().at_least(0).or_default(1.0));
}

}  // namespace trainlab
