// One registration function per file of losses, and what their entries share. Private to the module.
#pragma once

#include "objective/head.h"
#include "objective/loss.h"

namespace trainlab {

// An entry "loss.NAME" with the options of all losses: weight and target.
Entry loss_entry(const std::string& name, std::string doc);

// Of a class with a constructor (const Options&, const Head&), which gets the head with the target that the entry names.
template <class Kind>
LossKind loss_kind(std::string_view applies = {}) {
  return {[](const Options& options, const Head& head) -> std::unique_ptr<Loss> {
            return std::make_unique<Kind>(options, with_target(options, head));
          },
          applies};
}

// The option `loss` of a fit: an entry or a function.
std::unique_ptr<Loss> make_loss(const Options& fit, const Head& head);
// function(out, batch) → scalar[, count]: the count is what the scalar was divided by, without it the batch's size.
std::unique_ptr<Loss> function_loss(std::shared_ptr<Callable> function, const Head& head);


}  // namespace trainlab
