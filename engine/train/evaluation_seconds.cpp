#include "train/evaluation_seconds.h"

namespace trainlab {

double evaluation_seconds(const DataParts& data, const Part& part, const EvaluationSpeed& speed) {
  const auto size = static_cast<double>(part.size());
  if (speed.validation > 0 && data.val) return speed.validation * size / static_cast<double>(data.val->size());
  // Without its backward pass a step costs about a third; half is assumed.
  return 0.5 * speed.step * size / speed.samples;
}

}  // namespace trainlab
