#include "data/dataset.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/random/stream.h"

namespace trainlab {

Shape Column::sample_shape() const { return source ? source->shape() : values.sizes().slice(1).vec(); }

at::ScalarType Column::stored_type() const { return source ? source->type() : values.scalar_type(); }

at::ScalarType Column::batch_type() const {
  if (scale.defined() || shift.defined() || at::isFloatingType(stored_type())) return at::kFloat;
  return as_int64 ? at::kLong : stored_type();
}

const Column* Dataset::find(std::string_view column) const {
  for (const Column& candidate : columns)
    if (candidate.name == column) return &candidate;
  return nullptr;
}

std::int64_t Dataset::bytes() const {
  std::set<const void*> seen;
  std::int64_t sum = 0;
  for (const Column& column : columns)
    if (column.values.defined() && seen.insert(column.values.storage().data()).second)
      sum += static_cast<std::int64_t>(column.values.storage().nbytes());
  return sum;
}

std::vector<std::int64_t> Draws::draw(Key key, std::int64_t size) const {
  Stream stream(key);
  std::vector<std::int64_t> places(static_cast<std::size_t>(count));
  for (std::int64_t& place : places) {
    if (cumulative.empty()) {
      place = static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(size)));
    } else {
      // The first sample whose cumulative weight is above the draw; a sample of weight 0 is never drawn. Rounding may
      // give a draw equal to the whole sum, above which there is no sample.
      const double drawn = std::min(stream.uniform() * cumulative.back(), std::nextafter(cumulative.back(), 0.0));
      place = std::upper_bound(cumulative.begin(), cumulative.end(), drawn) - cumulative.begin();
    }
  }
  return places;
}

}  // namespace trainlab
