#include "filling.h"

#include <stdexcept>

namespace trainlab {

Filling::Filling(const Part& part, std::size_t column, at::ScalarType float_type)
    : rows_(part.data->columns[column], float_type),
      float_type_(float_type),
      drawn_(part.draws != nullptr),
      changes_(part.augmentation && part.data->columns[column].name == "x") {
  const bool target = part.augmentation && part.data->columns[column].name == "y" && part.augmentation->mixes();
  if (changes_ || target) augmentation_ = part.augmentation;
  mixes_labels_ = target && augmentation_->classes() > 0;
  if (mixes_labels_ && (rows_.type() != at::kLong || !rows_.sample_shape().empty()))
    throw std::logic_error("labels to be mixed are int64, one for each sample");
}

void Filling::fill(const BatchPlace& place, std::span<const std::int64_t> rows, std::byte* out) const {
  if (!augmentation_) return rows_.copy(rows, out);
  const Key epoch = place.key.fold("augment").fold(static_cast<std::uint64_t>(place.epoch));
  if (changes_) {
    const Key samples = epoch.fold("sample");
    rows_.copy(rows, out, [&](std::size_t i, std::byte* values) {
      Key key = samples.fold(static_cast<std::uint64_t>(rows[i]));
      if (drawn_) key = key.fold(static_cast<std::uint64_t>(place.position) + i);
      augmentation_->change(reinterpret_cast<std::uint8_t*>(values), key);
    });
  } else if (!mixes_labels_) {
    rows_.copy(rows, out);
  }
  if (!augmentation_->mixes()) return;
  const Mix drawn = augmentation_->mix(epoch.fold("batch").fold(static_cast<std::uint64_t>(place.number)));
  float_type_ == at::kFloat ? mix<float>(drawn, rows, out) : mix<double>(drawn, rows, out);
}

template <class T>
void Filling::mix(const Mix& mix, std::span<const std::int64_t> rows, std::byte* out) const {
  const auto samples = static_cast<std::int64_t>(rows.size());
  auto* const values = reinterpret_cast<T*>(out);
  if (changes_) return mix_images(mix, values, samples, augmentation_->shape());
  if (!mixes_labels_) return mix_rows(mix, values, samples, element_count(rows_.sample_shape()));
  std::vector<std::int64_t> labels(rows.size());
  rows_.copy(rows, reinterpret_cast<std::byte*>(labels.data()));
  mix_labels(mix, labels.data(), values, samples, augmentation_->classes());
}

}  // namespace trainlab
