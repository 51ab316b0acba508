// Loader: batches of a part, gathered by worker threads ahead of the step loop.
//
// The order is a function of (key, epoch) only, and the state is three integers that the caller holds: seed (in the
// key), epoch, position. Prefetched batches are never part of the state. Workers fill chunks of several batches with
// one gather per column, and a batch is a view into a chunk, so the hand-over costs nothing per batch and there is no
// per-sample collate. Buffers are recycled when no view of them is left.
#pragma once

#include <memory>
#include <span>

#include "core/random/key.h"
#include "data/dataset.h"

namespace trainlab {

class InputListener;

// A batch. Columns are in the dataset's order: [B, …] without a member axis, [M, B, …] with one.
struct Batch {
  std::vector<at::Tensor> columns;
  at::Tensor index;  // int64 [B] or [M, B]: rows of the part's dataset
  std::int64_t size = 0;
  std::int64_t epoch = 0;     // of this batch
  std::int64_t position = 0;  // samples of the epoch before this batch
};

struct LoaderOptions {
  std::int64_t batch = 64;
  bool shuffle = true;
  bool drop_last = false;
  int threads = 1;                         // workers; 0: the caller's thread gathers
  int prefetch = 4;                        // batches ahead, at least
  std::int64_t needed = 0;                 // batches that are made ahead, from the first epoch's first on; 0: no end
  at::ScalarType float_type = at::kFloat;  // float columns are given in this type
  at::Device device = at::kCPU;            // the device to which the caller will move the batches
  InputListener* listener = nullptr;       // hears the making and the handing over of batches; outlives the loader
};

class Loader {
 public:
  // One key makes batches without a member axis. With group = true there may be several keys: slice m follows the order
  // of keys[m]; equal keys share one gather, and the batch is then an expanded view. Error{recipe} when drop_last
  // leaves no batch, or the part is empty. Threads start at the first next().
  Loader(Part part, LoaderOptions options, std::vector<Key> keys, bool group);
  ~Loader();
  Loader(const Loader&) = delete;

  std::int64_t batches_per_epoch() const;
  std::int64_t samples_per_epoch() const;  // with drop_last those of the whole batches
  // The bytes of each buffer that the loader has filled and handed out once its workers are ahead, where at most `held`
  // batches in a row, of one epoch, are in use at a time.
  std::vector<std::int64_t> buffer_bytes(std::int64_t held = 1) const;

  // Goes to a place in the sequence of batches; position in samples, a multiple of the batch size. The end of an epoch
  // is the beginning of the next. Error{run} if there is no such place.
  void seek(std::int64_t epoch, std::int64_t position);
  // The next batch, after the part's transforms, which are called here, on their home thread. Epochs follow each other
  // without end. Errors of workers are raised here, at each call until seek(). The views stay valid as long as they are
  // held.
  Batch next();
  // The seconds that the part's transforms took within next() since the last call of this function.
  double take_transform_seconds();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Samples of a part, given by their place in it (0 … size − 1), as one batch: for small checks, tests and statistics.
Batch gather(const Part& part, std::span<const std::int64_t> rows, at::ScalarType float_type = at::kFloat);

}  // namespace trainlab
