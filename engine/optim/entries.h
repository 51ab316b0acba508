// The module's registrations, one function for each file of entries, and options that several optimizers have.
#pragma once

#include <memory>
#include <utility>

#include "core/registry.h"
#include "optim/optimizer.h"

namespace trainlab {

Option rate_option(double by_default);
// `doc` says what the two numbers do.
Option betas_option(double first, double second,
                    std::string doc = "decay of the running means of the gradient and of its square");
Option eps_option(double by_default);
// The option `weight_decay` in its two meanings.
Option l2_option();
Option decoupled_option(double by_default);
// The option `decay_norms_and_biases`.
Option decay_option();

// The kind of an optimizer that is made from the options of its rows, its parameters and the number of members.
template <class Made>
OptimizerKind optimizer_kind(UsualRates rates, bool takes_bfloat16 = false) {
  return {.make = [](std::span<const Options> specs, std::vector<OptimizedParameter> parameters,
                     std::int64_t members) { return std::make_unique<Made>(specs, std::move(parameters), members); },
          .rates = rates,
          .takes_bfloat16 = takes_bfloat16};
}

// Error{recipe} if the optimizer in `option` keeps an average of the weights, which a wrapper would pass over.
void refuse_average(const Options& spec, const std::string& option);

}  // namespace trainlab
