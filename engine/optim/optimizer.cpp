#include "optim/optimizer.h"

#include <stdexcept>

#include "entries.h"
#include "tensor/types.h"

namespace trainlab {

std::unique_ptr<Optimizer> make_optimizer(std::span<const Options> specs, std::vector<OptimizedParameter> parameters,
                                          std::int64_t members) {
  if (members < 0 || specs.size() != static_cast<std::size_t>(members ? members : 1))
    throw std::logic_error("make_optimizer: " + std::to_string(specs.size()) + " specs for " +
                           std::to_string(members) + " members");
  const Options& first = specs.front();
  for (const Options& spec : specs)
    if (spec.entry().name != first.entry().name)
      throw std::logic_error("make_optimizer: " + spec.entry().name + " beside " + first.entry().name +
                             " in one group of members");
  const auto& factory = first.registry().implementation<OptimizerFactory>(first.entry());
  return with_torch_errors([&] { return factory(specs, std::move(parameters), members); });
}

Option decay_option() {
  return Option("decay_norms_and_biases", "whether weight decay also acts on the parameters of norms and on biases")
      .boolean()
      .or_default(true);
}

void register_optim(Registry& registry) {
  register_sgd(registry);
  register_adam(registry);
  register_schedules(registry);
}

}  // namespace trainlab
