// The entries of this module, one function per family of layers; register_model calls them all.
#pragma once

#include "core/registry.h"

namespace trainlab {

void register_activation(Registry& registry);
void register_containers(Registry& registry);
void register_conv(Registry& registry);
void register_dropout(Registry& registry);
void register_linear(Registry& registry);
void register_norm(Registry& registry);
void register_pool(Registry& registry);
void register_shape(Registry& registry);

}  // namespace trainlab
