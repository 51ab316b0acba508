// What a fit can be told to compute and watch: registry entries of kind "loss" (implementation LossFactory), "metric"
// (MetricKind) and "stop" (StopFactory).
#pragma once

namespace trainlab {

class Registry;

void register_losses(Registry& registry);
void register_metrics(Registry& registry);
void register_stop_rules(Registry& registry);

}  // namespace trainlab
