#include "data/loader.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <c10/core/InferenceMode.h>

#include <numeric>
#include <set>

#include "core/random/stream.h"
#include "support/data_support.h"
#include "support/stand_in_device.h"
#include "tensor/device.h"

namespace trainlab::loader_test {

using namespace test;

namespace {

// n samples of `width` bytes, scaled; sample i has the bytes i·width + j modulo 251, and the label i.
Part numbered(std::int64_t n, std::int64_t width = 5) {
  Dataset set;
  set.size = n;
  const at::Tensor x = at::arange(n * width, at::kLong).remainder(251).to(at::kByte).reshape({n, width});
  set.columns = {{"x", x, at::full({}, 1 / 255.0f), at::full({}, -0.5f)}, {"y", at::arange(n, at::kLong), {}, {}}};
  return {std::make_shared<const Dataset>(std::move(set)), nullptr};
}

// Every second sample, from the end.
Part reversed_half(const Part& part) {
  auto rows = std::make_shared<std::vector<std::int64_t>>();
  for (std::int64_t i = part.size() - 1; i >= 0; i -= 2) rows->push_back(i);
  return {part.data, rows};
}

void require_equal(const Batch& a, const Batch& b) {
  REQUIRE(a.size == b.size);
  REQUIRE(a.epoch == b.epoch);
  REQUIRE(a.position == b.position);
  REQUIRE(at::equal(a.index, b.index));
  REQUIRE(a.columns.size() == b.columns.size());
  for (std::size_t i = 0; i < a.columns.size(); ++i) {
    REQUIRE(a.columns[i].scalar_type() == b.columns[i].scalar_type());
    REQUIRE(at::equal(a.columns[i], b.columns[i]));
  }
}

std::vector<std::int64_t> numbers(const at::Tensor& t) {
  const at::Tensor flat = t.contiguous();
  return {flat.const_data_ptr<std::int64_t>(), flat.const_data_ptr<std::int64_t>() + flat.numel()};
}

const Key key = Key(3).fold("test");

// The sequence of batches as the contract has it, without chunks, threads or recycling.
std::vector<Batch> expected(const Part& part, const LoaderOptions& options, const Key& of, int epochs) {
  std::vector<Batch> batches;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    std::vector<std::int64_t> order =
        permutation(of.fold("order").fold(static_cast<std::uint64_t>(epoch)), part.size());
    for (std::int64_t at = 0; at < part.size(); at += options.batch) {
      const std::int64_t size = std::min(options.batch, part.size() - at);
      if (options.drop_last && size < options.batch) break;
      std::vector<std::int64_t> samples;
      for (std::int64_t i = at; i < at + size; ++i)
        samples.push_back(options.shuffle ? order[static_cast<std::size_t>(i)] : i);
      batches.push_back(gather(part, samples, options.float_type));
      batches.back().epoch = epoch;
      batches.back().position = at;
    }
  }
  return batches;
}

}  // namespace

TEST_CASE("gather gives converted columns and the dataset's rows") {
  const Part part = reversed_half(numbered(10, 2));  // rows 9, 7, 5, 3, 1
  const std::vector<std::int64_t> samples{0, 4, 1};
  const Batch batch = gather(part, samples);
  CHECK(batch.size == 3);
  CHECK(numbers(batch.index) == std::vector<std::int64_t>{9, 1, 7});
  CHECK(numbers(batch.columns[1]) == std::vector<std::int64_t>{9, 1, 7});
  REQUIRE(batch.columns[0].sizes() == at::IntArrayRef({3, 2}));
  const float* x = batch.columns[0].const_data_ptr<float>();
  const float scale = 1 / 255.0f;
  CHECK(x[0] == 18 * scale - 0.5f);
  CHECK(x[1] == 19 * scale - 0.5f);
  CHECK(x[2] == 2 * scale - 0.5f);
  CHECK_THROWS_AS(gather(part, std::vector<std::int64_t>{5}), std::logic_error);
}

TEST_CASE("the same batches for any number of threads") {
  // Many batches in a chunk, one, and an epoch of a single batch.
  const struct { std::int64_t samples, width, batch; } cases[] = {{103, 5, 8}, {70, 9000, 16}, {10, 3, 64}, {64, 3, 1}};
  for (const auto& c : cases) {
    for (const Part& part : {numbered(c.samples, c.width), reversed_half(numbered(c.samples, c.width))}) {
      for (const bool shuffle : {true, false}) {
        for (const bool drop_last : {true, false}) {
          for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
            LoaderOptions options{.batch = c.batch, .shuffle = shuffle, .drop_last = drop_last, .float_type = type};
            if (drop_last && c.batch > part.size()) continue;
            const std::vector<Batch> right = expected(part, options, key, 3);
            for (const int threads : {0, 1, 2, 4}) {
              options.threads = threads;
              Loader loader(part, options, {key}, false);
              REQUIRE(loader.batches_per_epoch() * 3 == static_cast<std::int64_t>(right.size()));
              for (const Batch& batch : right) require_equal(loader.next(), batch);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("seek goes to any place, also back, and the sequence goes on from there") {
  const Part part = numbered(103, 2000);
  for (const int threads : {0, 1, 4}) {
    const LoaderOptions options{.batch = 8, .threads = threads, .prefetch = 3};
    const std::vector<Batch> right = expected(part, options, key, 4);
    const std::int64_t per_epoch = 13;
    Loader loader(part, options, {key}, false);
    for (const std::int64_t place : {0, 5, 12, 13, 38, 1, 1, 25, 3}) {
      loader.seek(place / per_epoch, place % per_epoch * 8);
      for (std::int64_t i = place; i < place + 14; ++i)
        require_equal(loader.next(), right[static_cast<std::size_t>(i)]);
    }
    loader.seek(1, 103);  // the end of an epoch is the begin of the next
    require_equal(loader.next(), right[26]);
    for (const auto& [epoch, position] : {std::pair{0, 7}, {0, -8}, {-1, 0}, {0, 104}, {0, 112}})
      CHECK(error_of([&, e = epoch, p = position] { loader.seek(e, p); }).kind() == ErrorKind::run);
    require_equal(loader.next(), right[27]);  // a refused place changes nothing
  }
}

TEST_CASE("epochs and keys have orders of their own") {
  const Part part = numbered(50);
  const auto order = [&](const Key& of, std::int64_t epoch) {
    Loader loader(part, {.batch = 50}, {of}, false);
    loader.seek(epoch, 0);
    return numbers(loader.next().index);
  };
  CHECK(order(key, 0) == order(key, 0));
  CHECK(order(key, 0) != order(key, 1));
  CHECK(order(key, 0) != order(Key(4), 0));
}

TEST_CASE("batches stay as they are while they are held, and their memory comes back when they are not") {
  const Part part = numbered(200, 3000);
  for (const int threads : {0, 1, 3}) {
    const LoaderOptions options{.batch = 16, .threads = threads, .prefetch = 2};
    const std::vector<Batch> right = expected(part, options, key, 3);
    std::vector<Batch> held;
    {
      Loader loader(part, options, {key}, false);
      for (std::size_t i = 0; i < right.size(); ++i) held.push_back(loader.next());
    }
    for (std::size_t i = 0; i < right.size(); ++i) require_equal(held[i], right[i]);

    Loader loader(part, options, {key}, false);
    std::set<const void*> places;
    for (std::size_t i = 0; i < 20 * right.size(); ++i) places.insert(loader.next().columns[0].const_data_ptr());
    CHECK(places.size() <= 18);  // at most 16 chunks ahead, one in use, and the one before
  }
}

TEST_CASE("no more large batches are ahead than asked for") {
  const Part part = numbered(32, 1 << 16);  // batches of 2 MiB
  Loader loader(part, {.batch = 8, .threads = 1, .prefetch = 3}, {key}, false);
  std::set<const void*> places;
  for (int i = 0; i < 60; ++i) places.insert(loader.next().columns[0].const_data_ptr());
  CHECK(places.size() <= 5);  // three ahead, one in use, and the one before
}

TEST_CASE("no more batches are made ahead than are needed, and those after them come all the same") {
  const Part part = numbered(200, 3000);
  for (const int threads : {0, 1, 2}) {
    const LoaderOptions endless{.batch = 16, .threads = threads};
    LoaderOptions options = endless;
    options.needed = 17;  // an epoch has 13
    const std::vector<Batch> right = expected(part, endless, key, 2);
    Loader loader(part, options, {key}, false);
    for (const Batch& one : right) require_equal(loader.next(), one);
  }
  const LoaderOptions few{.batch = 16, .threads = 2, .prefetch = 12, .needed = 3};
  const auto sum = [](const std::vector<std::int64_t>& bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
  };
  Loader loader(part, few, {key}, false);
  const std::int64_t bytes = sum(loader.buffer_bytes());
  CHECK(bytes >= 3 * std::int64_t{16} * 3000 * 4);
  CHECK(bytes < 4 * std::int64_t{16} * 3000 * 4);
  std::set<const void*> places;
  for (int i = 0; i < 3; ++i) places.insert(loader.next().columns[0].const_data_ptr());
  CHECK(places.size() <= 3);
}

TEST_CASE("a held view of one batch keeps its memory from being filled anew") {
  const Part part = numbered(64, 40);
  const LoaderOptions options{.batch = 4, .threads = 0};
  Loader loader(part, options, {key}, false);
  const at::Tensor row = loader.next().columns[0].select(0, 2);
  const at::Tensor before = row.clone();
  for (int i = 0; i < 200; ++i) loader.next();
  CHECK(at::equal(row, before));
}

TEST_CASE("every batch begins at the same alignment") {
  const Part part = numbered(103, 7);
  Loader loader(part, {.batch = 9}, {key}, false);
  for (int i = 0; i < 40; ++i) {
    const Batch batch = loader.next();
    for (const at::Tensor& column : batch.columns)
      REQUIRE(reinterpret_cast<std::uintptr_t>(column.const_data_ptr()) % 64 == 0);
  }
}

TEST_CASE("a group's batch is the members' batches side by side") {
  const Part part = numbered(53, 6);
  const std::vector<Key> keys{Key(1), Key(2), Key(1), Key(3)};
  for (const int threads : {0, 2}) {
    const LoaderOptions options{.batch = 10, .threads = threads};
    Loader group(part, options, keys, true);
    std::vector<std::vector<Batch>> alone;
    for (const Key& of : keys) alone.push_back(expected(part, options, of, 2));
    for (std::size_t i = 0; i < alone[0].size(); ++i) {
      const Batch batch = group.next();
      REQUIRE(batch.size == alone[0][i].size);
      std::vector<at::Tensor> index;
      for (const auto& member : alone) index.push_back(member[i].index);
      REQUIRE(at::equal(batch.index, at::stack(index)));
      for (std::size_t c = 0; c < batch.columns.size(); ++c) {
        std::vector<at::Tensor> slices;
        for (const auto& member : alone) slices.push_back(member[i].columns[c]);
        REQUIRE(batch.columns[c].is_contiguous());
        REQUIRE(at::equal(batch.columns[c], at::stack(slices)));
      }
    }
  }
}

TEST_CASE("members with equal keys share one gather") {
  const Part part = numbered(53, 6);
  for (const bool shuffle : {true, false}) {
    const LoaderOptions options{.batch = 10, .shuffle = shuffle};
    // Without shuffling all orders are one.
    Loader group(part, options, {key, shuffle ? key : Key(9), key}, true);
    for (const Batch& right : expected(part, options, key, 2)) {
      const Batch batch = group.next();
      for (std::size_t c = 0; c < batch.columns.size(); ++c) {
        REQUIRE(batch.columns[c].size(0) == 3);
        REQUIRE(batch.columns[c].stride(0) == 0);
        REQUIRE(at::equal(batch.columns[c], right.columns[c].unsqueeze(0).expand_as(batch.columns[c])));
      }
      REQUIRE(batch.index.stride(0) == 0);
    }
  }
  Loader one(part, {.batch = 10}, {key}, true);
  const Batch batch = one.next();
  CHECK(batch.columns[0].sizes() == at::IntArrayRef({1, 10, 6}));
  CHECK(batch.columns[0].is_contiguous());
}

TEST_CASE("batches are ordinary tensors, whatever mode their reader is in") {
  Loader loader(numbered(20), {.batch = 5, .threads = 0}, {key}, false);
  const c10::InferenceMode inference;
  const Batch batch = loader.next();
  CHECK_FALSE(batch.columns[0].is_inference());
  CHECK_FALSE(batch.columns[0].requires_grad());
  CHECK(batch.columns[0].is_contiguous());
}

TEST_CASE("a loader without a single batch is refused") {
  const Error larger = error_of([] { Loader(numbered(20), {.batch = 21, .drop_last = true}, {key}, false); });
  CHECK(larger.kind() == ErrorKind::recipe);
  CHECK(larger.message() == "a batch of 21 is larger than the data (20 samples), and with drop_last nothing is left");
  Part empty = numbered(20);
  empty.rows = std::make_shared<const std::vector<std::int64_t>>();
  CHECK(error_of([&] { Loader(empty, {}, {key}, false); }).message() ==
        "there are no samples in this part of the data");
  CHECK_THROWS_AS(Loader(numbered(20), {}, {}, false), std::logic_error);
  CHECK_THROWS_AS(Loader(numbered(20), {}, {key, key}, false), std::logic_error);
}

TEST_CASE("a device that copies later gives the loader's buffers, and gets the same batches") {
  register_stand_in();
  const at::Device place = parse_device("stand_in");
  const Part part = numbered(3000, 40);
  for (const int threads : {0, 2}) {
    const LoaderOptions options{.batch = 16, .threads = threads, .device = place};
    const std::vector<Batch> all = expected(part, options, key, 2);
    const int before = stand_in_buffers();
    Loader loader(part, options, {key}, false);
    for (const Batch& wanted : all) {
      Batch batch = loader.next();
      device_at(place).take(batch.columns);
      for (at::Tensor& column : batch.columns) column = column.cpu();
      require_equal(batch, wanted);
    }
    CHECK(stand_in_buffers() > before);
  }
}

}  // namespace trainlab::loader_test
