#include "filling.h"

#include <algorithm>
#include <stdexcept>

#include "core/input_trace.h"

namespace trainlab {

Filling::Filling(const Part& part, std::size_t column, at::ScalarType float_type)
    : rows_(part.data->columns[column], float_type),
      float_type_(float_type),
      drawn_(part.draws != nullptr),
      changes_(part.augmentation && part.data->columns[column].name == "x"),
      clips_(part.data->columns[column].stored_type() == at::kByte && rows_.sample_shape().size() == 3) {
  const bool target = part.augmentation && part.data->columns[column].name == "y" && part.augmentation->mixes();
  if (changes_ || target) augmentation_ = part.augmentation;
  mixes_labels_ = target && augmentation_->classes() > 0;
  if (mixes_labels_ && (rows_.type() != at::kLong || !rows_.sample_shape().empty()))
    throw std::logic_error("labels to be mixed are int64, one for each sample");
}

void Filling::fill(const BatchPlace& place, std::span<const std::int64_t> rows, std::byte* out) const {
  if (!augmentation_) return rows_.copy(rows, out);
  const InputSpan span(InputStage::augment, changes_ ? static_cast<std::int64_t>(rows.size()) : 0);
  const Key epoch = place.key.fold("augment").fold(static_cast<std::uint64_t>(place.epoch));
  const Key samples = epoch.fold("sample");
  if (changes_ && augmentation_->changes()) {
    rows_.copy(rows, out, [&](std::size_t i, std::byte* values) {
      augmentation_->change(reinterpret_cast<std::uint8_t*>(values), sample_key(samples, place, rows, i));
    });
  } else if (!mixes_labels_) {
    rows_.copy(rows, out);
  }
  if (changes_ && !augmentation_->noises().empty())
    rows_.type() == at::kFloat ? add_noise<float>(samples, place, rows, out)
                               : add_noise<double>(samples, place, rows, out);
  if (!augmentation_->mixes()) return;
  const Mix drawn = augmentation_->mix(epoch.fold("batch").fold(static_cast<std::uint64_t>(place.number)));
  float_type_ == at::kFloat ? mix<float>(drawn, rows, out) : mix<double>(drawn, rows, out);
}

Key Filling::sample_key(Key samples, const BatchPlace& place, std::span<const std::int64_t> rows, std::size_t i) const {
  const Key key = samples.fold(static_cast<std::uint64_t>(rows[i]));
  return drawn_ ? key.fold(static_cast<std::uint64_t>(place.position) + i) : key;
}

template <class T>
void Filling::add_noise(Key samples, const BatchPlace& place, std::span<const std::int64_t> rows,
                        std::byte* out) const {
  const auto elements = static_cast<std::size_t>(element_count(rows_.sample_shape()));
  const auto white = static_cast<double>(augmentation_->white());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    T* const values = reinterpret_cast<T*>(out) + i * elements;
    const Key key = sample_key(samples, place, rows, i).fold("noise");
    for (std::size_t n = 0; n < augmentation_->noises().size(); ++n) {
      const Noise& noise = augmentation_->noises()[n];
      Stream draws(key.fold(n));
      if (draws.uniform() >= noise.probability) continue;
      for (std::size_t j = 0; j < elements; ++j) {
        const double one = white * rows_.scale(j), zero = rows_.shift(j);  // 1.0 and 0.0 before normalisation
        const double value = values[j] + noise.deviation * one * draws.normal();
        values[j] = static_cast<T>(clips_ ? std::clamp(value, zero, zero + one) : value);
      }
    }
  }
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
