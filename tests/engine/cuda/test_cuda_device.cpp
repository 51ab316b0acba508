// A GPU as a device. Each case is left out where there is no GPU, and says so.
#include "cuda_device.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "tensor/device.h"
#include "tensor/random.h"
#include "tensor/types.h"

namespace trainlab::cuda_device_test {

namespace {

bool has_gpu() {
  [[maybe_unused]] static const bool is_added = (cuda::add_cuda(), true);
  if (settled_device("auto") == "cuda") return true;
  WARN("skipped: there is no GPU");
  return false;
}

const Device& gpu() { return device_at(parse_device("cuda")); }

at::Tensor there(at::IntArrayRef shape, at::ScalarType type) {
  return at::empty(shape, at::TensorOptions(type).device(gpu().place()));
}

}  // namespace

TEST_CASE("gpu: it has a name, and counts the memory of its tensors") {
  if (!has_gpu()) return;
  constexpr std::int64_t mega = std::int64_t{1} << 20;
  CHECK(gpu().name() == "cuda:0");
  CHECK_FALSE(gpu().is_synchronous());
  const std::int64_t before = gpu().memory().live;
  {
    const at::Tensor held = there({4 * mega}, at::kByte);
    CHECK(gpu().memory().live - before == 4 * mega);
    CHECK(gpu().live_bytes() == gpu().memory().live);
  }
  CHECK(gpu().memory().live == before);
  CHECK(gpu().memory().peak >= before + 4 * mega);
}

TEST_CASE("gpu: uniform numbers and dropout have the bits of the CPU, normal numbers all but the last") {
  if (!has_gpu()) return;
  const std::array keys = {Key(1), Key(2)};
  const std::array p = {0.3, 0.5};
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const at::Tensor here = at::empty({2, 4099}, type), drawn = there({2, 4099}, type);
    fill_uniform(here, keys[0], -1, 2);
    fill_uniform(drawn, keys[0], -1, 2);
    CHECK(drawn.cpu().equal(here));
    CHECK(dropout_multipliers({2, 4099}, drawn.options(), p, keys)
              .cpu()
              .equal(dropout_multipliers({2, 4099}, type, p, keys)));
    fill_normal(here, keys[0], 1, 2);
    fill_normal(drawn, keys[0], 1, 2);
    const double rounding = type == at::kFloat ? 1.2e-7 : 4.5e-16;  // one unit in the last place of 1
    CHECK(drawn.cpu().allclose(here, 4 * rounding, 8 * rounding));
  }
  CHECK(gpu()
            .bernoulli({3, 50}, at::kFloat, 0.4, keys[0])
            .cpu()
            .equal(device_at(at::kCPU).bernoulli({3, 50}, at::kFloat, 0.4, keys[0])));
}

TEST_CASE("gpu: columns come from pinned buffers, which are given free when the copies are done") {
  if (!has_gpu()) return;
  constexpr std::int64_t values = std::int64_t{1} << 20;
  const c10::Storage buffer = gpu().host_buffer(values * sizeof(float));
  CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64 == 0);
  const at::Tensor host = at::empty({0}).set_(buffer, 0, {values});
  REQUIRE(host.is_pinned());
  std::vector<at::Tensor> differences;
  for (int step = 0; step < 20; ++step) {
    host.fill_(step);
    std::vector<at::Tensor> columns{host, at::arange(step, step + 3)};
    gpu().take(columns);
    REQUIRE(columns[0].device() == gpu().place());
    // Work behind the copies, in memory that the next step's copies would like to have.
    differences.push_back(columns[0].sub(step).abs().sum().add(columns[1].sum().sub(3 * step + 3).abs()));
    columns.clear();
    gpu().wait();
  }
  for (const at::Tensor& difference : differences) CHECK(difference.item<double>() == 0);
  std::vector<at::Tensor> another{at::ones({1})};
  gpu().take(another);
  gpu().wait();
  gpu().take(another);
  CHECK(host.use_count() == 1);
}

TEST_CASE("gpu: batches that come while others are computed with are not mixed up") {
  if (!has_gpu()) return;
  std::vector<at::Tensor> hosts, differences;
  for (int step = 0; step < 8; ++step) hosts.push_back(at::ones({1 << 20}).mul(step).pin_memory());
  const at::Tensor wide = at::rand({2048, 2048}).to(gpu().place());
  for (int step = 0; step < 64; ++step) {
    std::vector<at::Tensor> columns{hosts[static_cast<std::size_t>(step % 8)]};
    gpu().take(columns);
    wide.mm(wide);  // the GPU is busy while the next copies begin
    differences.push_back(columns[0].sub(step % 8).abs().sum());
  }
  for (const at::Tensor& difference : differences) CHECK(difference.item<double>() == 0);
}

}  // namespace trainlab::cuda_device_test
