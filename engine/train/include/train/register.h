// What a fit can be told to compute, to watch and to begin with: registry entries of kind "loss" (implementation
// LossFactory), "metric" (MetricKind), "stop" (StopFactory) and init.weights (StoredValues).
#pragma once

namespace trainlab {

class Registry;

void register_losses(Registry& registry);
void register_metrics(Registry& registry);
void register_stop_rules(Registry& registry);
void register_initial_weights(Registry& registry);

}  // namespace trainlab
