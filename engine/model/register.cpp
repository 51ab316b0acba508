#include "entries.h"
#include "model/model.h"

namespace trainlab {

void register_model(Registry& registry) {
  register_activation(registry);
  register_containers(registry);
  register_conv(registry);
  register_dropout(registry);
  register_linear(registry);
  register_norm(registry);
  register_pool(registry);
  register_shape(registry);
}

}  // namespace trainlab
