// The module's registrations, one function for each file of entries, and options that several optimizers have.
#pragma once

#include "core/registry.h"

namespace trainlab {

void register_sgd(Registry& registry);
void register_adam(Registry& registry);
void register_adam_family(Registry& registry);
void register_adagrad_family(Registry& registry);
void register_sign_and_average(Registry& registry);
void register_lamb(Registry& registry);
void register_muon(Registry& registry);
void register_lbfgs(Registry& registry);
void register_sam(Registry& registry);
void register_lookahead(Registry& registry);
void register_averages(Registry& registry);
void register_schedules(Registry& registry);

Option rate_option(double by_default);
Option betas_option(double first, double second);
Option eps_option(double by_default);
// The option `weight_decay` in its two meanings.
Option l2_option();
Option decoupled_option(double by_default);
// The option `decay_norms_and_biases`.
Option decay_option();

}  // namespace trainlab
