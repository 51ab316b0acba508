// Devices as objects: their names, and that all of them draw alike.
#include "tensor/device.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <array>
#include <catch2/catch.hpp>

#include "operator_support.h"
#include "support/stand_in_device.h"
#include "tensor/memory.h"
#include "tensor/random.h"
#include "tensor/types.h"

using namespace trainlab;
using namespace trainlab::test;

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

TEST_CASE("device: memory of one that does not count it, and of the CPU") {
  CHECK(device_at(stand_in()).memory().live == 0);
  count_tensor_memory();
  const at::Tensor held = at::empty({1 << 20});
  CHECK(device_at(at::kCPU).memory().live >= 4 << 20);
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
  CHECK_THROWS_WITH(later(), Catch::Contains("before its copy"));
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
    CHECK(Call(name, {moved, 0.5, true}).tensor().cpu().equal(Call(name, {x, 0.5, true}).tensor()));
  }
  const at::Tensor made = Call("rand", {4}, {{"device", "stand_in"}}).tensor();
  CHECK(made.device() == stand_in());
  CHECK(made.cpu().equal(Call("rand", {4}).tensor()));
}
