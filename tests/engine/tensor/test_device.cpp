// Devices as objects: their names, and that all of them draw alike.
#include "tensor/device.h"

#include <ATen/TensorIndexing.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "operator_support.h"
#include "support/stand_in_device.h"
#include "tensor/memory.h"
#include "tensor/random.h"
#include "tensor/types.h"

namespace trainlab::device_test {

using namespace test;

namespace {

at::Device stand_in() {
  register_stand_in();
  return parse_device("stand_in");
}

}  // namespace

TEST_CASE("device: a kind that was added is known by its name and its index, and is not taken by itself") {
  CHECK(stand_in() == at::Device(at::kPrivateUse1, 0));
  CHECK(parse_device("stand_in:0") == stand_in());
  CHECK(parse_device("stand_in:1") == at::Device(at::kPrivateUse1, 1));
  CHECK(parse_device("auto") == at::Device(at::kCPU));
  CHECK(device_at(stand_in()).name() == "stand_in:0");
  CHECK(device_at(at::kCPU).name() == "cpu");
  for (const char* text : {"auto", "cpu", "cuda", "cuda:3", "stand_in", "stand_in:1"}) CHECK(names_device(text));
  for (const char* text : {"", "gpu", "cuda:", "cuda:-1", "cuda:1x", "cpu:0"}) CHECK_FALSE(names_device(text));
  CHECK_THROWS_WITH(parse_device("stand_in:2"), Catch::Contains("found 2, the last is stand_in:1"));
}

TEST_CASE(
    "device: processes that are given a kind take its devices in turn, and a device that is named is taken by all") {
  stand_in();
  for (const int worker : {0, 1, 2, 3}) {
    CHECK(worker_device("stand_in", worker) == at::Device(at::kPrivateUse1, static_cast<c10::DeviceIndex>(worker % 2)));
    CHECK(worker_device("stand_in:1", worker) == at::Device(at::kPrivateUse1, 1));
    CHECK(worker_device("auto", worker) == at::Device(at::kCPU));
  }
  CHECK(settled_device("auto") == "cpu");
  CHECK(settled_device("stand_in") == "stand_in");
  CHECK(settled_device("stand_in:1") == "stand_in:1");
}

TEST_CASE("device: memory of the CPU") {
  count_tensor_memory();
  const at::Tensor held = at::empty({1 << 20});
  CHECK(device_at(at::kCPU).memory().live >= 4 << 20);
}

TEST_CASE("device: an allocator of a plugin counts by use and keeps the limit of scripts") {
  constexpr std::int64_t mega = std::int64_t{1} << 20;
  const Device& device = device_at(stand_in());
  const auto made = [](std::int64_t bytes) {
    return at::empty({bytes}, at::TensorOptions(at::kByte).device(stand_in()));
  };
  const TensorMemory before = device.memory();
  const auto more = [&](MemoryUse use) { return device.memory().of(use) - before.of(use); };
  {
    const at::Tensor other = made(mega);
    const at::Tensor weights = [&] {
      const MemoryCharge charge(MemoryUse::weights);
      return made(2 * mega);
    }();
    const at::Tensor computed = weights.add(1);
    CHECK(more(MemoryUse::weights) == 2 * mega);
    CHECK(more(MemoryUse::other) == 3 * mega);
    CHECK(device.memory().live - before.live == 5 * mega);
    CHECK(device_at(parse_device("stand_in:1")).memory().live == 0);

    set_script_memory_limit(before.of(MemoryUse::script) + mega);
    const MemoryCharge script(MemoryUse::script);
    CHECK_THROWS_AS(made(2 * mega), ScriptMemoryLimit);
    set_script_memory_limit(0);
    CHECK_NOTHROW(made(2 * mega));
  }
  CHECK(device.memory().live == before.live);
  CHECK(device.memory().peak >= before.live + 5 * mega);
}

TEST_CASE("device: the stand-in takes no tensors of another device, as a GPU") {
  const at::Tensor host = at::ones({2}), here = host.to(stand_in()), other = host.to(parse_device("stand_in:1"));
  const std::string words =
      "Expected all tensors to be on the same device, but found at least two devices, stand_in:0 ";
  CHECK_THROWS_WITH(here.add(host), Catch::Contains(words + "and cpu!"));
  CHECK_THROWS_WITH(here.add(other), Catch::Contains(words + "and stand_in:1!"));
  CHECK_THROWS_WITH(here.index_select(0, at::zeros({1}, at::kLong)), Catch::Contains(words + "and cpu!"));
  CHECK_THROWS_WITH(at::zeros({}).add_(here.sum()), Catch::Contains(words + "and cpu!"));
  CHECK(here.add(at::ones({})).cpu().equal(host.mul(2)));
  CHECK(here.index({at::zeros({1}, at::kLong)}).cpu().equal(at::ones({1})));
  CHECK(here.clone().copy_(other).cpu().equal(host));
}

TEST_CASE("device: columns of a batch come to it, and stay where they are on the CPU") {
  std::vector<at::Tensor> columns{at::arange(6).view({2, 3}), at::ones({2})};
  const void* const before = columns[0].data_ptr();
  device_at(at::kCPU).take(columns);
  CHECK(columns[0].data_ptr() == before);
  device_at(stand_in()).take(columns);
  for (const at::Tensor& column : columns) CHECK(column.device() == stand_in());
  CHECK(columns[0].cpu().equal(at::arange(6).view({2, 3})));
}

TEST_CASE("device: memory of the host is held until its copy is done, and writing to it before is found out") {
  const Device& device = device_at(stand_in());
  const auto moved = [&](const at::Tensor& host) {
    std::vector<at::Tensor> columns{host};
    device.take(columns);
    return columns.front();
  };
  const auto later = [&] {
    for (int i = 0; i < 4; ++i) moved(at::ones({1}));
  };
  later();
  at::Tensor host = at::ones({8});
  const at::Tensor there = moved(host);
  CHECK(host.use_count() > 1);
  later();
  CHECK(host.use_count() == 1);
  host.zero_();
  CHECK(there.cpu().equal(at::ones({8})));

  moved(host);
  host.fill_(2);
  CHECK_THROWS_WITH(later(), Catch::Contains("written to before its copy"));

  at::ones({8}).to(stand_in(), /*non_blocking=*/true);
  CHECK_THROWS_WITH(later(), Catch::Contains("freed before its copy"));
}

TEST_CASE("device: memory of the host is held too where the copy of a later column raises") {
  const Device& device = device_at(stand_in());
  const auto later = [&] {
    for (int i = 0; i < 4; ++i) {
      std::vector<at::Tensor> columns{at::ones({1})};
      device.take(columns);
    }
  };
  later();
  {
    std::vector<at::Tensor> columns{at::ones({8}), at::ones({8})};
    const LostDevice gone(2);  // the first column's memory and its copy
    CHECK_THROWS_AS(device.take(columns), c10::AcceleratorError);
    REQUIRE(gone.is_gone());
    CHECK(columns.front().is_cpu());
  }
  CHECK_NOTHROW(later());
}

TEST_CASE("device: the numbers of a key are those of the CPU") {
  const std::array keys = {Key(1), Key(2)};
  const std::array p = {0.3, 0.5};
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const at::Tensor here = at::empty({2, 35}, type);
    const at::Tensor there = at::empty({2, 35}, at::TensorOptions(type).device(stand_in()));
    fill_uniform(here, keys[0], -1, 2);
    fill_uniform(there, keys[0], -1, 2);
    CHECK(there.cpu().equal(here));
    fill_normal(here, keys[0], 1, 2);
    fill_normal(there, keys[0], 1, 2);
    CHECK(there.cpu().equal(here));
    const at::Tensor mask = dropout_multipliers({2, 35}, there.options(), p, keys);
    CHECK(mask.device() == stand_in());
    CHECK(mask.cpu().equal(dropout_multipliers({2, 35}, type, p, keys)));
  }
}

TEST_CASE("device: operators that draw give the numbers of the CPU") {
  const at::Tensor x = at::ones({4, 30}).mul(0.4), moved = x.to(stand_in());
  for (const char* name : {"bernoulli", "rand_like", "randn_like"}) {
    INFO(name);
    const at::Tensor drawn = Call(name, {moved}).tensor();
    CHECK(drawn.device() == stand_in());
    CHECK(drawn.cpu().equal(Call(name, {x}).tensor()));
  }
  for (const char* name : {"normal_", "uniform_", "exponential_"}) {
    INFO(name);
    const at::Tensor here = x.clone(), there = moved.clone();
    Call(name, {there}).tensor();
    Call(name, {here}).tensor();
    CHECK(there.cpu().equal(here));
  }
  for (const char* name : {"dropout", "alpha_dropout", "feature_dropout"}) {
    INFO(name);
    const int masks = stand_in_masks();
    CHECK(Call(name, {moved, 0.5, true}).tensor().cpu().equal(Call(name, {x, 0.5, true}).tensor()));
    CHECK(stand_in_masks() == masks + 1);
  }
  const at::Tensor made = Call("rand", {4}, {{"device", "stand_in"}}).tensor();
  CHECK(made.device() == stand_in());
  CHECK(made.cpu().equal(Call("rand", {4}).tensor()));
}

TEST_CASE("device: an operator that draws in place writes into its tensor, and into no other") {
  const at::Tensor all = at::zeros({2, 30}).to(stand_in()), row = all.select(0, 1);
  const at::Tensor drawn = Call("normal_", {row}).tensor();
  CHECK(drawn.is_same(row));
  CHECK(all.select(0, 0).cpu().equal(at::zeros({30})));
  CHECK(row.cpu().equal(Call("normal_", {at::zeros({30})}).tensor()));
}

TEST_CASE("device: gradients go through operators that draw") {
  const auto gradient = [](at::Device place) {
    const at::Tensor alpha = at::ones({30}).mul(2).to(place).requires_grad_();
    Call("_standard_gamma", {alpha}).tensor().sum().backward();
    return alpha.grad().cpu();
  };
  const at::Tensor there = gradient(stand_in());
  CHECK(there.equal(gradient(at::kCPU)));
  CHECK(there.abs().sum().item<double>() > 0);

  const at::Tensor x = at::ones({4}).to(stand_in()).requires_grad_();
  Call("normal_", {x.mul(2)}).tensor().sum().backward();
  CHECK(x.grad().cpu().equal(at::zeros({4})));
}

TEST_CASE("device: an operator draws on the device that it is given, not on that of its tensor") {
  const at::Tensor here = at::ones({30}), there = here.to(stand_in());
  const at::Tensor expected = Call("rand_like", {here}).tensor();
  CHECK(Call("rand_like", {here}, {{"device", "stand_in"}}).tensor().cpu().equal(expected));
  CHECK(Call("rand_like", {there}, {{"device", "cpu"}}).tensor().equal(expected));
}

TEST_CASE("device: a plugin that failed fails again in the same words, without being asked again") {
  ::setenv("TRAINLAB_DEVICES", TRAINLAB_TEST_PLUGINS "/failing", 1);
  for (int i = 0; i < 2; ++i)
    CHECK_THROWS_WITH(parse_device("failing"), Catch::Contains("trainlab-failing.so cannot be used: attempt 1"));
  const std::vector<Error> failed = load_device_plugins();
  REQUIRE(failed.size() == 1);
  CHECK_THAT(failed.front().message(), Catch::Contains("cannot be used: attempt 1"));
  CHECK(parse_device("auto") == at::Device(at::kCPU));
  ::unsetenv("TRAINLAB_DEVICES");
}

}  // namespace trainlab::device_test
