// Filling: one column of a batch as the training sees it: rows gathered, augmented, mixed.
#pragma once

#include <span>

#include "augment/augmentation.h"
#include "data/dataset.h"
#include "row_gather.h"

namespace trainlab {

// The place of a batch in the sequence that a key gives.
struct BatchPlace {
  Key key;
  std::int64_t epoch = 0, number = 0, position = 0;  // the batch's number and first sample in the epoch
};

class Filling {
 public:
  // Column `column` of the part's dataset; float_type as RowGather's.
  Filling(const Part& part, std::size_t column, at::ScalarType float_type);

  at::ScalarType type() const { return mixes_labels_ ? float_type_ : rows_.type(); }
  Shape sample_shape() const { return mixes_labels_ ? Shape{augmentation_->classes()} : rows_.sample_shape(); }

  // `out` receives the rows of the dataset, in the form that type() and sample_shape() give. Thread-safe.
  void fill(const BatchPlace& place, std::span<const std::int64_t> rows, std::byte* out) const;

 private:
  // The key of sample i of the requested rows; `samples` is the key of the epoch's samples.
  Key sample_key(Key samples, const BatchPlace& place, std::span<const std::int64_t> rows, std::size_t i) const;
  template <class T>
  void add_noise(Key samples, const BatchPlace& place, std::span<const std::int64_t> rows, std::byte* out) const;
  template <class T>
  void mix(const Mix& mix, std::span<const std::int64_t> rows, std::byte* out) const;

  RowGather rows_;
  std::shared_ptr<const Augmentation> augmentation_;  // for this column, or none
  at::ScalarType float_type_;
  bool drawn_;         // a sample may be there several times in an epoch
  bool changes_;       // x
  bool clips_;         // noise stays within the images' black and white
  bool mixes_labels_;  // labels become shares
};

}  // namespace trainlab
