// One registration function per file of losses, and what their entries share. Private to the module.
#pragma once

#include "core/registry.h"

namespace trainlab {

// An entry "loss.NAME" with the options of all losses: weight and target.
Entry loss_entry(const std::string& name, std::string doc);

void register_class_losses(Registry& registry);
void register_regression_losses(Registry& registry);
void register_bce(Registry& registry);

}  // namespace trainlab
