// The learning rate for another size of the batch.
#pragma once

#include "core/registry.h"

namespace trainlab {

// Whether the optimizer, or the base of a wrapper, finds the size of its steps itself with these options.
bool finds_step_size(const Options& optimizer);

// A rate that was tuned for batches of `from` samples, for batches of `to`; both are 1 or more. For descent with
// momentum, with the factor f of the batch: f^0.5 up to f = 4, and beyond that f^0.36, but no less than at 4; for
// optimizers that divide by the size of past gradients f^0.25. A smaller batch divides by the factor of the opposite
// change. The exponents were measured on small classifiers; below the critical size of a batch the linear rule of Goyal
// et al. (2017) is too high. `optimizer` is an entry of this kind, perhaps a wrapper. Error{recipe} for an optimizer
// without such a rule.
double scaled_rate(double rate, double from, double to, const Options& optimizer);

}  // namespace trainlab
