// Chunks: several batches gathered at once into one buffer per column. Which samples a chunk holds is a function of its
// number, the keys and the part alone.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "buffers.h"
#include "data/loader.h"
#include "filling.h"

namespace trainlab {

class Chunks {
 public:
  // As the Loader's.
  Chunks(Part part, const LoaderOptions& options, const std::vector<Key>& keys, bool group);

  std::int64_t samples_per_epoch() const;
  std::int64_t batches_per_epoch() const { return batches_; }
  // Each chunk of an epoch holds batches_per_chunk() batches; the last chunk holds the remaining ones.
  std::int64_t batches_per_chunk() const { return per_chunk_; }
  std::int64_t chunks_per_epoch() const { return (batches_ + per_chunk_ - 1) / per_chunk_; }
  // The chunks that hold the batches which are needed; without an end more than there can be.
  std::int64_t needed_chunks() const;
  // Number of chunks to make ahead of the chunk in use.
  std::int64_t ahead() const { return ahead_; }
  // The bytes of each buffer: of every column, for the chunks ahead and those of `held` batches in a row of one
  // epoch.
  std::vector<std::int64_t> buffer_bytes(std::int64_t held) const;

  // The batches of chunk `number`, counted from epoch 0. Thread-safe. Errors of LibTorch come out as Error.
  std::vector<Batch> make(std::int64_t number);

 private:
  using Rows = std::shared_ptr<const std::vector<std::int64_t>>;
  struct Order {
    std::int64_t epoch = 0;
    std::vector<Rows> rows;  // for each of keys_: the epoch's samples as rows of the dataset
  };
  // Where a column's tensors lie: one block for each batch, which holds slices_ × size rows.
  struct Layout {
    at::ScalarType type;
    std::size_t row_bytes, block_bytes;
    Shape sizes, strides;  // of a batch's tensor; what depends on its size is set when it is made
    std::unique_ptr<Buffers> buffers;
  };

  Layout layout_for(at::ScalarType type, const Shape& sample) const;
  at::Tensor tensor_of(const Layout& layout, const c10::Storage& storage, std::int64_t block, std::int64_t size) const;
  std::int64_t size_of(std::int64_t batch) const;
  std::vector<Rows> rows_of(std::int64_t epoch);
  std::vector<Batch> make_here(std::int64_t number);

  const Part part_;
  const LoaderOptions options_;
  const bool group_;
  const std::int64_t members_;
  std::vector<Key> keys_;            // distinct
  std::vector<std::size_t> key_of_;  // for each slice in memory its key; a single slice serves all members alike
  std::int64_t samples_ = 0;         // of an epoch
  std::int64_t batches_ = 0, per_chunk_ = 1, ahead_ = 1;
  std::vector<Filling> columns_;
  std::vector<Layout> layouts_;  // of the columns, and of the index

  Rows natural_;  // without shuffling
  std::mutex orders_mutex_;
  std::deque<Order> orders_;  // of the latest epochs
};

}  // namespace trainlab
