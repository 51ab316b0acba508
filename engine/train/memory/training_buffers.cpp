#include "training_buffers.h"

#include "data/loader.h"
#include "plan/needed_batches.h"

namespace trainlab {

std::vector<std::int64_t> training_buffers(const FitPlan& plan, LoaderOptions loader, std::int64_t accumulate,
                                           const std::vector<Key>& keys) {
  loader.needed = needed_batches(plan.length.total_steps, accumulate);
  return Loader(plan.data.train, loader, keys, keys.size() > 1).buffer_bytes(accumulate);
}

}  // namespace trainlab
