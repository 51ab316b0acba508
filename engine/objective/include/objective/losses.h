// Helpers that the entries of losses share. Private to the module.
#pragma once

#include "objective/head.h"
#include "objective/loss.h"

namespace trainlab {

// An entry "loss.NAME" with the options of all losses: weight and target.
Entry loss_entry(const std::string& name, std::string doc);

// The factory of a loss class with a constructor (const Options&, const Head&), whose head has the target that the
// entry names.
template <class Kind>
LossKind loss_kind(LossKind flags = {}) {
  flags.make = [](const Options& options, const Head& head) -> std::unique_ptr<Loss> {
    return std::make_unique<Kind>(options, with_target(options, head));
  };
  return flags;
}

// The option `loss` of a fit: an entry or a function.
std::unique_ptr<Loss> make_loss(const Options& fit, const Head& head);
// function(out, batch) → scalar[, count]: the count is the number by which the scalar was divided (default: the batch's
// size).
std::unique_ptr<Loss> function_loss(std::shared_ptr<Callable> function, const Head& head);

}  // namespace trainlab
