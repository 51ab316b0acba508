// The entries of this module, one function per family of layers; register_model calls them all.
#pragma once

#include "core/registry.h"

namespace trainlab {

void register_activation(Registry& registry);
void register_attention(Registry& registry);
void register_branches(Registry& registry);
void register_containers(Registry& registry);
void register_conv(Registry& registry);
void register_dropout(Registry& registry);
void register_embedding(Registry& registry);
void register_init(Registry& registry);
void register_input(Registry& registry);
void register_linear(Registry& registry);
void register_module(Registry& registry);
void register_norm(Registry& registry);
void register_norm_weight(Registry& registry);
void register_pool(Registry& registry);
void register_recurrent(Registry& registry);
void register_resize(Registry& registry);
void register_shape(Registry& registry);
void register_shared(Registry& registry);
void register_squeeze(Registry& registry);
void register_transformer(Registry& registry);

}  // namespace trainlab
