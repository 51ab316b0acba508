#include "data/dataset.h"

namespace trainlab {

Shape Column::sample_shape() const { return values.sizes().slice(1).vec(); }

at::ScalarType Column::batch_type() const {
  return scale.defined() || shift.defined() ? at::kFloat : values.scalar_type();
}

const Column* Dataset::find(std::string_view column) const {
  for (const Column& candidate : columns)
    if (candidate.name == column) return &candidate;
  return nullptr;
}

}  // namespace trainlab
