// One registration function per file of losses. Private to the module.
#pragma once

namespace trainlab {

class Registry;

void register_cross_entropy(Registry& registry);
void register_regression_losses(Registry& registry);
void register_bce(Registry& registry);

}  // namespace trainlab
