#include "data/loader.h"

#include "data/batch_object.h"

#include <ATen/ops/empty.h>

#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include "chunks.h"
#include "core/clock.h"
#include "core/input_trace.h"
#include "core/threads/ahead.h"
#include "core/trace.h"
#include "transform.h"

namespace trainlab {

struct Loader::Impl {
  Impl(const Part& its_part, const LoaderOptions& options, const std::vector<Key>& keys, bool group)
      : batch(options.batch),
        part(its_part),
        chunks(its_part, options, keys, group),
        key(keys.front()),
        listener(options.listener) {
    if (group && !part.transforms.empty()) throw recipe_error("data:transform does not go with stacked trials");
    if (options.threads > 0)
      ahead.emplace(
          options.threads, chunks.ahead(), [this](std::int64_t number) { return chunks.make(number); },
          chunks.needed_chunks());
  }

  std::vector<Batch> take() {
    const InputSpan span(InputStage::wait, 0);
    return ahead->take();
  }

  // Chunks hold as many batches each, the last one of an epoch perhaps fewer.
  void tell_ready() {
    const std::int64_t per_chunk = chunks.batches_per_chunk();
    const auto left = static_cast<std::int64_t>(current.size() - at);
    listener->taking(left + (ahead ? ahead->ready() * per_chunk : 0), (chunks.ahead() + 1) * per_chunk);
  }

  const std::int64_t batch;
  const Part part;
  Chunks chunks;
  const Key key;  // of the transforms
  InputListener* const listener;
  std::optional<Ahead<std::vector<Batch>>> ahead;  // without threads none; ends before the chunks do

  // The chunk in use, and what of it comes next.
  std::vector<Batch> current;
  std::size_t at = 0;
  std::int64_t next_chunk = 0;
  double transform_seconds = 0;
  std::size_t skip = 0;  // batches of the next chunk that lie before the place of seek()
};

Loader::Loader(Part part, LoaderOptions options, std::vector<Key> keys, bool group)
    : impl_(std::make_unique<Impl>(part, options, keys, group)) {}

Loader::~Loader() = default;

std::int64_t Loader::batches_per_epoch() const { return impl_->chunks.batches_per_epoch(); }
std::int64_t Loader::samples_per_epoch() const { return impl_->chunks.samples_per_epoch(); }

std::vector<std::int64_t> Loader::buffer_bytes(std::int64_t held) const { return impl_->chunks.buffer_bytes(held); }

void Loader::seek(std::int64_t epoch, std::int64_t position) {
  Impl& impl = *impl_;
  if (position == impl.chunks.samples_per_epoch()) {
    ++epoch;
    position = 0;
  }
  constexpr std::int64_t most_epochs = std::int64_t{1} << 31;  // keeps the count of chunks in range
  if (epoch < 0 || epoch > most_epochs || position < 0 || position > impl.chunks.samples_per_epoch() ||
      position % impl.batch != 0) {
    throw run_error("epoch " + std::to_string(epoch) + ", sample " + std::to_string(position) +
                    " is no place between two batches of " + std::to_string(impl.batch) + " in data of " +
                    std::to_string(impl.chunks.samples_per_epoch()) + " samples an epoch");
  }
  const std::int64_t number = position / impl.batch;
  impl.next_chunk = epoch * impl.chunks.chunks_per_epoch() + number / impl.chunks.batches_per_chunk();
  impl.skip = static_cast<std::size_t>(number % impl.chunks.batches_per_chunk());
  impl.current.clear();
  impl.at = 0;
  if (impl.ahead) impl.ahead->seek(impl.next_chunk);
}

Batch Loader::next() {
  Impl& impl = *impl_;
  const ListeningToInput listening(impl.listener);
  if (impl.listener) [[unlikely]]
    impl.tell_ready();
  if (impl.at == impl.current.size()) {
    impl.current = impl.ahead ? impl.take() : impl.chunks.make(impl.next_chunk);
    ++impl.next_chunk;
    impl.at = std::exchange(impl.skip, 0);
  }
  Batch batch = std::move(impl.current[impl.at++]);
  if (impl.part.transforms.empty()) return batch;
  const InputSpan input(InputStage::transform, batch.size);
  const Span function(Phase::callback, "transform");
  const double begin = steady_seconds();
  batch = transformed(impl.part, std::move(batch), impl.key);
  impl.transform_seconds += steady_seconds() - begin;
  return batch;
}

double Loader::take_transform_seconds() { return std::exchange(impl_->transform_seconds, 0); }

Batch gather(const Part& part, std::span<const std::int64_t> rows, at::ScalarType float_type) {
  std::vector<std::int64_t> samples;
  for (const std::int64_t row : rows) {
    if (row < 0 || row >= part.size()) throw std::logic_error("gather: there is no sample " + std::to_string(row));
    samples.push_back(part.row(row));
  }
  Batch batch;
  batch.size = static_cast<std::int64_t>(samples.size());
  for (const Column& column : part.data->columns) {
    const RowGather rows_of(column, float_type);
    Shape sizes = rows_of.sample_shape();
    sizes.insert(sizes.begin(), batch.size);
    batch.columns.push_back(at::empty(sizes, rows_of.type()));
    rows_of.copy(samples, static_cast<std::byte*>(batch.columns.back().mutable_data_ptr()));
  }
  batch.index = at::empty({batch.size}, at::kLong);
  std::memcpy(batch.index.mutable_data_ptr(), samples.data(), samples.size() * sizeof(std::int64_t));
  return batch;
}

std::shared_ptr<BatchObject> batch_object(const Dataset& data, Batch batch) {
  auto object = std::make_shared<BatchObject>();
  for (std::size_t i = 0; i < data.columns.size(); ++i) {
    object->columns.emplace(data.columns[i].name, std::move(batch.columns[i]));
  }
  object->index = std::move(batch.index);
  object->size = batch.size;
  return object;
}

}  // namespace trainlab
