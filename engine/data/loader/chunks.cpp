#include "chunks.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "core/input_trace.h"

namespace trainlab {

namespace {

// Large enough that handing a chunk over costs little beside filling it, small enough to stay in a core's cache.
constexpr std::size_t chunk_bytes = std::size_t{256} << 10;

// Workers that have filled all chunks ahead sleep until half of them are used (see Ahead); a wake-up can cost as much
// as gathering a batch, and several times as much on virtual machines.
constexpr std::int64_t chunks_between_wakes = 8;
// Up to this much memory ahead for that purpose; chunks so large that it is more take longer than a wake-up anyway.
constexpr std::size_t bytes_between_wakes = std::size_t{2} << 20;

// Batches begin at addresses of equal alignment, so that operators take the same path for each of them.
std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

std::span<const std::int64_t> part_of(const std::vector<std::int64_t>& rows, std::int64_t from, std::int64_t count) {
  return {rows.data() + from, static_cast<std::size_t>(count)};
}

}  // namespace

Chunks::Chunks(Part part, const LoaderOptions& options, const std::vector<Key>& keys, bool group)
    : part_(std::move(part)), options_(options), group_(group), members_(static_cast<std::int64_t>(keys.size())) {
  if (keys.empty() || (keys.size() > 1 && !group))
    throw std::logic_error("a loader has one key, a group's at least one");
  if (options_.batch < 1 || options_.threads < 0 || options_.prefetch < 1)
    throw std::logic_error("a loader's batch and prefetch are at least 1, its threads at least 0");

  samples_ = options_.shuffle ? part_.epoch_size() : part_.size();
  if (part_.size() == 0) throw recipe_error("there are no samples in this part of the data");
  batches_ = options_.drop_last ? samples_ / options_.batch : (samples_ + options_.batch - 1) / options_.batch;
  if (batches_ == 0) {
    throw recipe_error("a batch of " + std::to_string(options_.batch) + " is larger than the data (" +
                       std::to_string(samples_) + " samples), and with drop_last nothing is left")
        .hint("choose a batch of at most " + std::to_string(samples_) + ", or drop_last = false");
  }

  for (const Key& key : keys) {
    const auto found = options_.shuffle ? std::find(keys_.begin(), keys_.end(), key) : keys_.begin();
    key_of_.push_back(static_cast<std::size_t>(found - keys_.begin()));
    if (found == keys_.end()) keys_.push_back(key);
  }
  if (keys_.size() == 1) key_of_.assign(1, 0);
  if (!options_.shuffle) {
    natural_ = part_.rows;
    if (!natural_) {
      std::vector<std::int64_t> rows(static_cast<std::size_t>(samples_));
      std::iota(rows.begin(), rows.end(), 0);
      natural_ = std::make_shared<const std::vector<std::int64_t>>(std::move(rows));
    }
  }

  std::size_t batch_bytes = 0;
  for (std::size_t c = 0; c < part_.data->columns.size(); ++c) {
    columns_.emplace_back(part_, c, options_.float_type);
    layouts_.push_back(layout_for(columns_.back().type(), columns_.back().sample_shape()));
  }
  layouts_.push_back(layout_for(at::kLong, {}));
  for (const Layout& layout : layouts_) batch_bytes += layout.block_bytes;
  const std::int64_t most = options_.needed > 0 ? std::min(batches_, options_.needed) : batches_;
  per_chunk_ = std::clamp<std::int64_t>(static_cast<std::int64_t>(chunk_bytes / batch_bytes), 1, most);
  if (options_.threads > 0) {
    const std::int64_t asked = (options_.prefetch + per_chunk_ - 1) / per_chunk_;
    const auto fitting =
        static_cast<std::int64_t>(bytes_between_wakes / (batch_bytes * static_cast<std::size_t>(per_chunk_)));
    ahead_ = std::max({asked, std::int64_t{2} * options_.threads, 2 * std::min(chunks_between_wakes, fitting)});
    ahead_ = std::min(ahead_, needed_chunks());
  }
  // Beside the chunks ahead, one chunk is in use, and the last batch of the chunk before may still be held.
  const Device& device = device_at(options_.device);
  for (Layout& layout : layouts_) {
    layout.buffers = std::make_unique<Buffers>(device, layout.block_bytes * static_cast<std::size_t>(per_chunk_),
                                               static_cast<std::size_t>(ahead_) + 2);
  }
}

std::vector<std::int64_t> Chunks::buffer_bytes(std::int64_t held) const {
  // The first of the batches may be the last one of its chunk.
  const std::int64_t in_use = std::min((held + 2 * per_chunk_ - 2) / per_chunk_, chunks_per_epoch());
  const std::int64_t chunks = std::min((options_.threads > 0 ? ahead_ : 0) + in_use, needed_chunks());
  std::vector<std::int64_t> bytes;
  for (const Layout& layout : layouts_)
    bytes.insert(bytes.end(), static_cast<std::size_t>(chunks),
                 static_cast<std::int64_t>(layout.block_bytes) * per_chunk_);
  return bytes;
}

std::int64_t Chunks::needed_chunks() const {
  if (options_.needed == 0) return std::numeric_limits<std::int64_t>::max();
  const std::int64_t epochs = options_.needed / batches_, rest = options_.needed % batches_;
  return epochs * chunks_per_epoch() + (rest + per_chunk_ - 1) / per_chunk_;
}

std::int64_t Chunks::samples_per_epoch() const { return std::min(samples_, batches_ * options_.batch); }

std::int64_t Chunks::size_of(std::int64_t batch) const {
  return std::min(options_.batch, samples_ - batch * options_.batch);
}

Chunks::Layout Chunks::layout_for(at::ScalarType type, const Shape& sample) const {
  Layout layout;
  layout.type = type;
  layout.row_bytes = static_cast<std::size_t>(element_count(sample)) * c10::elementSize(type);
  layout.block_bytes = aligned(key_of_.size() * static_cast<std::size_t>(options_.batch) * layout.row_bytes);
  layout.sizes = sample;
  layout.sizes.insert(layout.sizes.begin(), group_ ? 2 : 1, 0);
  layout.strides.assign(layout.sizes.size(), 1);
  for (std::size_t i = layout.sizes.size() - 1; i-- > 0;)
    layout.strides[i] = layout.strides[i + 1] * layout.sizes[i + 1];
  return layout;
}

at::Tensor Chunks::tensor_of(const Layout& layout, const c10::Storage& storage, std::int64_t block,
                             std::int64_t size) const {
  Shape sizes = layout.sizes, strides = layout.strides;
  sizes[group_ ? 1 : 0] = size;
  if (group_) {
    sizes[0] = members_;
    strides[0] = key_of_.size() == 1 && members_ > 1 ? 0 : size * strides[1];
  }
  return tensor_on(storage, layout.type, static_cast<std::size_t>(block) * layout.block_bytes, sizes, strides);
}

std::vector<Chunks::Rows> Chunks::rows_of(std::int64_t epoch) {
  if (natural_) return {natural_};
  // Whoever comes first makes the order, the others wait for it.
  const std::lock_guard lock(orders_mutex_);
  for (const Order& order : orders_)
    if (order.epoch == epoch) return order.rows;
  Order order{epoch, {}};
  for (const Key& key : keys_) {
    const Key drawing = key.fold("order").fold(static_cast<std::uint64_t>(epoch));
    std::vector<std::int64_t> rows =
        part_.draws ? part_.draws->draw(drawing, part_.size()) : permutation(drawing, part_.size());
    if (part_.rows)
      for (std::int64_t& row : rows) row = part_.row(row);
    order.rows.push_back(std::make_shared<const std::vector<std::int64_t>>(std::move(rows)));
  }
  if (orders_.size() == 2) orders_.pop_front();
  return orders_.emplace_back(std::move(order)).rows;
}

std::vector<Batch> Chunks::make(std::int64_t number) {
  const ListeningToInput listening(options_.listener);
  return with_torch_errors([&] { return make_here(number); });
}

std::vector<Batch> Chunks::make_here(std::int64_t number) {
  // The same tensors whatever the caller's mode is, when it is the caller's thread that makes them.
  const c10::InferenceMode normal(false);
  const std::int64_t epoch = number / chunks_per_epoch();
  const std::int64_t first = number % chunks_per_epoch() * per_chunk_;
  const std::int64_t count = std::min(per_chunk_, batches_ - first);
  const std::int64_t end = std::min(samples_, (first + count) * options_.batch);
  const InputSpan span(InputStage::gather, end - first * options_.batch);
  const std::vector<Rows> rows = rows_of(epoch);

  std::vector<Batch> batches(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    Batch& batch = batches[static_cast<std::size_t>(i)];
    batch.size = size_of(first + i);
    batch.epoch = epoch;
    batch.position = (first + i) * options_.batch;
    batch.columns.reserve(columns_.size());
  }
  for (std::size_t c = 0; c < layouts_.size(); ++c) {
    const Layout& layout = layouts_[c];
    const c10::Storage storage = layout.buffers->take();
    auto* const base = static_cast<std::byte*>(storage.mutable_data());
    for (std::int64_t i = 0; i < count; ++i) {
      Batch& batch = batches[static_cast<std::size_t>(i)];
      std::byte* const block = base + static_cast<std::size_t>(i) * layout.block_bytes;
      const std::size_t slice_bytes = static_cast<std::size_t>(batch.size) * layout.row_bytes;
      for (std::size_t s = 0; s < key_of_.size(); ++s) {
        std::byte* const out = block + s * slice_bytes;
        const auto same =
            static_cast<std::size_t>(std::find(key_of_.begin(), key_of_.end(), key_of_[s]) - key_of_.begin());
        const std::span<const std::int64_t> samples = part_of(*rows[key_of_[s]], batch.position, batch.size);
        if (same < s) {
          std::memcpy(out, block + same * slice_bytes, slice_bytes);
        } else if (c < columns_.size()) {
          columns_[c].fill({keys_[key_of_[s]], epoch, first + i, batch.position}, samples, out);
        } else {
          std::memcpy(out, samples.data(), slice_bytes);
        }
      }
      at::Tensor tensor = tensor_of(layout, storage, i, batch.size);
      if (c < columns_.size()) {
        batch.columns.push_back(std::move(tensor));
      } else {
        batch.index = std::move(tensor);
      }
    }
  }
  return batches;
}

}  // namespace trainlab
