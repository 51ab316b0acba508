// Tensors without values take what the CPU's tensors take.
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/prelu.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <set>
#include <vector>

#include "tensor/dry_run.h"
#include "tensor/memory.h"
#include "tensor/random.h"

namespace trainlab::dry_run_test {

namespace {

// Adds up what it hears.
class Sum final : public MemoryListener {
 public:
  void allocated(const void* block, std::int64_t bytes, MemoryUse) noexcept override {
    is_sound = is_sound && live_.insert(block).second;
    now += bytes;
    peak = std::max(peak, now);
  }
  void freed(const void* block, std::int64_t bytes, MemoryUse) noexcept override {
    is_sound = is_sound && live_.erase(block) == 1;
    now -= bytes;
  }
  std::int64_t now = 0, peak = 0;
  bool is_sound = true;

 private:
  std::set<const void*> live_;
};

using Work = std::function<at::Tensor(at::Device)>;

at::Tensor leaf(at::IntArrayRef shape, at::Device device) { return at::ones(shape, device).requires_grad_(); }

struct Case {
  const char* name;
  Work work;
};

// Each makes a number of tensors that need gradients.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"linear",
       [](at::Device d) {
         return at::linear(leaf({64, 100}, d), leaf({200, 100}, d), leaf({200}, d));
       }},
      {"batch_norm",
       [](at::Device d) {
         const at::Tensor mean = at::zeros({8}, d), variance = at::ones({8}, d);
         return at::batch_norm(leaf({16, 8, 10, 10}, d), leaf({8}, d), leaf({8}, d), mean, variance, true, 0.1, 1e-5,
                               true);
       }},
      {"layer_norm",
       [](at::Device d) {
         return at::layer_norm(leaf({32, 100}, d), {100}, leaf({100}, d), leaf({100}, d));
       }},
      {"group_norm",
       [](at::Device d) {
         return at::group_norm(leaf({16, 8, 10, 10}, d), 4, leaf({8}, d), leaf({8}, d));
       }},
      {"convolution",
       [](at::Device d) {
         const at::Tensor x = leaf({8, 16, 20, 20}, d).contiguous(at::MemoryFormat::ChannelsLast);
         return at::convolution(x, leaf({32, 16, 3, 3}, d), leaf({32}, d), {1, 1}, {1, 1}, {1, 1}, false, {0, 0}, 1);
       }},
      {"attention",
       [](at::Device d) {
         const auto part = [&] { return leaf({4, 2, 64, 32}, d); };
         return at::scaled_dot_product_attention(part(), part(), part(), {}, 0.0, true);
       }},
      {"embedding",
       [](at::Device d) {
         return at::embedding(leaf({50, 32}, d), at::zeros({20, 10}, d).to(at::kLong));
       }},
      {"prelu",
       [](at::Device d) {
         return at::prelu(leaf({32, 100}, d), leaf({1}, d));
       }},
      {"huber_loss",
       [](at::Device d) {
         return at::huber_loss(leaf({32, 100}, d), at::zeros({32, 100}, d));
       }},
  };
  return all;
}

}  // namespace

TEST_CASE("a listener hears of the CPU's blocks what the counts tell") {
  count_tensor_memory();
  Sum one, other;
  const std::int64_t before = live_tensor_bytes();
  at::Tensor kept;
  {
    const MemoryListening first(one), second(other);
    kept = at::empty({1000});
    const at::Tensor gone = at::empty({5000});
  }
  const at::Tensor unheard = at::empty({7000});
  CHECK(one.now == block_bytes(4000));
  CHECK(one.peak == block_bytes(4000) + block_bytes(20000));
  CHECK(one.now + block_bytes(28000) == live_tensor_bytes() - before);
  CHECK(other.peak == one.peak);
  CHECK(one.is_sound);
}

// Blocks below 1 KiB differ by some bytes with their place in memory.
TEST_CASE("a block has the size that the allocator counts") {
  count_tensor_memory();
  for (const std::int64_t bytes : {4096, 100'000, 1 << 20, 5'000'000, 100 << 20}) {
    const std::int64_t before = live_tensor_bytes();
    const at::Tensor tensor = at::empty({bytes}, at::kByte);
    INFO(bytes);
    CHECK(live_tensor_bytes() - before == block_bytes(bytes));
  }
}

TEST_CASE("operators without values take what they take on the CPU, forward and backward") {
  count_tensor_memory();
  for (const Case& one : cases()) {
    const auto run = [&](at::Device device, Sum& sum) {
      const at::Tensor y = one.work(device);
      const std::int64_t kept = sum.now;
      y.backward(at::ones_like(y));
      return kept;
    };
    Sum real, dry;
    std::int64_t kept = 0, kept_dry = 0;
    for (int i = 0; i < 2; ++i) {  // the first call may make what later calls find made
      real = Sum();
      const MemoryListening listening(real);
      kept = run(at::kCPU, real);
    }
    {
      const DryRun counting(dry);
      kept_dry = run(at::kMeta, dry);
    }
    INFO(one.name << ": kept " << kept << " and " << kept_dry << ", peak " << real.peak << " and " << dry.peak);
    // Small blocks differ by some bytes with their place, which must be a multiple of 64.
    CHECK(static_cast<double>(kept_dry) == Approx(static_cast<double>(kept)).epsilon(0.005));
    CHECK(static_cast<double>(dry.peak) == Approx(static_cast<double>(real.peak)).epsilon(0.02));
    CHECK(dry.now == 0);
    CHECK(dry.is_sound);
  }
}

TEST_CASE("a dry run takes no memory, and nothing can be read in it") {
  count_tensor_memory();
  const std::int64_t before = live_tensor_bytes();
  Sum sum;
  const DryRun counting(sum);
  const at::Tensor huge = at::empty({std::int64_t{1} << 40}, at::device(at::kMeta).dtype(at::kFloat));
  CHECK(sum.now >= std::int64_t{1} << 42);
  CHECK(live_tensor_bytes() == before);
  CHECK_THROWS_AS(huge.sum().item<float>(), c10::Error);
  CHECK_THROWS_AS(huge.nonzero(), c10::Error);
  const double rate = 0.5;
  const Key key(1);
  CHECK(dropout_multipliers({4, 5}, huge.options(), {&rate, 1}, {&key, 1}).is_meta());
}

}  // namespace trainlab::dry_run_test
