#include "pruners.h"

namespace trainlab {

Option pruner_warmup_option() {
  return Option("warmup", "number of validations of a trial before it may be pruned")
      .integer()
      .at_least(0)
      .or_default(0);
}

std::unique_ptr<Pruner> make_pruner(const Options& spec, std::size_t objectives, const Delivery& delivery) {
  return spec.registry().implementation<PrunerFactory>(spec.entry())(spec, objectives, delivery);
}

}  // namespace trainlab
