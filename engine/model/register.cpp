#include "entries.h"
#include "model/model.h"

namespace trainlab {

void register_model(Registry& registry) {
  // Entries that others name in their defaults come first.
  register_init(registry);
  register_activation(registry);
  register_attention(registry);
  register_branches(registry);
  register_containers(registry);
  register_conv(registry);
  register_dropout(registry);
  register_embedding(registry);
  register_input(registry);
  register_linear(registry);
  register_module(registry);
  register_norm(registry);
  register_norm_weight(registry);
  register_pool(registry);
  register_recurrent(registry);
  register_resize(registry);
  register_shape(registry);
  register_shared(registry);
  register_squeeze(registry);
  register_transformer(registry);
}

}  // namespace trainlab
