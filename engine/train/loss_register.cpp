#include "losses.h"
#include "train/register.h"

namespace trainlab {

void register_losses(Registry& registry) {
  register_cross_entropy(registry);
  register_regression_losses(registry);
  register_bce(registry);
}

}  // namespace trainlab
