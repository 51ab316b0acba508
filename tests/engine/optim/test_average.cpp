#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "optim/average.h"
#include "specs.h"
#include "support/stand_in_device.h"

namespace trainlab::average_test {

using trainlab::test::on_test_device;

namespace {

constexpr RunLength hundred{.total_steps = 100, .steps_per_epoch = 10, .batch = 4};

// A weight that takes the values sin(t + shift) and a count of steps beside it.
struct Weights {
  explicit Weights(std::int64_t members = 0) {
    const at::TensorOptions counts = on_test_device(at::kLong);
    value = members ? at::zeros({members, 3}, on_test_device()) : at::zeros({3}, on_test_device());
    count = members ? at::zeros({members}, counts) : at::zeros({}, counts);
  }
  void go(std::int64_t t, double shift = 0) {
    if (value.dim() == 1) {
      value.copy_(at::arange(3).add(static_cast<double>(t) + shift).sin());
    } else {
      for (std::int64_t m = 0; m < value.size(0); ++m)
        value[m].copy_(at::arange(3).add(static_cast<double>(t) + 0.5 * static_cast<double>(m)).sin());
    }
    count.fill_(t + 1);
  }
  std::vector<AveragedTensor> tensors() const {
    return {{.name = "1.w", .value = value}, {.name = "1.n", .value = count}};
  }
  at::Tensor value, count;
};

double at_step(std::int64_t t, std::int64_t i) { return std::sin(static_cast<double>(t + i)); }

}  // namespace

TEST_CASE("averages: ema is the recursion, from its start on") {
  const Options spec = optim_spec("ema", {{"decay", 0.9}, {"start", "10 steps"}, {"every", "2 steps"}});
  Weights weights;
  WeightAverage average(std::span(&spec, 1), hundred, weights.tensors(), 0);
  double expected = 0;
  for (std::int64_t t = 0; t < 40; ++t) {
    weights.go(t);
    average.stepped(t);
    CHECK((average.updates(0) > 0) == (t >= 11));
    if (t == 11) expected = at_step(t, 1);
    if (t > 11 && t % 2 == 1) expected = 0.9 * expected + 0.1 * at_step(t, 1);
  }
  CHECK(average.values()[0][1].item<double>() == Approx(expected).epsilon(1e-5));
  CHECK(average.values()[1].item<std::int64_t>() == 40);  // counts are copied
  CHECK(average.evaluated(0));
}

TEST_CASE("averages: swa is the equal mean, by default of epochs' ends in the last quarter") {
  const Options spec = optim_spec("swa", {{"evaluate", false}});
  Weights weights;
  WeightAverage average(std::span(&spec, 1), {.total_steps = 80, .steps_per_epoch = 10, .batch = 4}, weights.tensors(),
                        0);
  for (std::int64_t t = 0; t < 80; ++t) {
    weights.go(t);
    average.stepped(t);
  }
  const double mean = (at_step(69, 0) + at_step(79, 0)) / 2;
  CHECK(average.values()[0][0].item<double>() == Approx(mean).epsilon(1e-5));
  CHECK_FALSE(average.evaluated(0));
}

TEST_CASE("averages: a member's equals its own, and waits while it is stopped") {
  const std::vector<Options> specs{optim_spec("ema", {{"decay", 0.9}}), optim_spec("ema", {{"decay", 0.5}})};
  Weights both(2), first, second;
  WeightAverage together(specs, hundred, both.tensors(), 2);
  WeightAverage one(std::span(&specs[0], 1), hundred, first.tensors(), 0);
  WeightAverage two(std::span(&specs[1], 1), hundred, second.tensors(), 0);
  for (std::int64_t t = 0; t < 20; ++t) {
    both.go(t);
    first.go(t);
    second.go(t, 0.5);
    const std::vector<std::uint8_t> active{1, t < 10 ? std::uint8_t{1} : std::uint8_t{0}};
    together.stepped(t, active);
    one.stepped(t);
    if (t < 10) two.stepped(t);
  }
  CHECK(at::equal(together.values()[0][0], one.values()[0]));
  CHECK(at::equal(together.values()[0][1], two.values()[0]));
}

TEST_CASE("averages: go on from their state, and keep the length that was set") {
  const Options spec = optim_spec("swa", {{"start", "50%"}, {"every", "1 steps"}});
  const RunLength open{.total_steps = 0, .steps_per_epoch = 10, .batch = 4};
  Weights a, b;
  WeightAverage whole(std::span(&spec, 1), open, a.tensors(), 0), resumed(std::span(&spec, 1), open, b.tensors(), 0);
  whole.set_total(20);
  for (std::int64_t t = 0; t < 15; ++t) {
    a.go(t);
    whole.stepped(t);
  }
  const auto from = whole.state(), to = resumed.state();
  for (std::size_t i = 0; i < from.size(); ++i) to[i].second.copy_(from[i].second);
  for (std::int64_t t = 15; t < 20; ++t) {
    a.go(t);
    b.go(t);
    whole.stepped(t);
    resumed.stepped(t);
  }
  double mean = 0;
  for (std::int64_t t = 10; t < 20; ++t) mean += at_step(t, 2) / 10;
  CHECK(whole.values()[0][2].item<double>() == Approx(mean).margin(1e-6));
  CHECK(at::equal(whole.values()[0], resumed.values()[0]));
}

TEST_CASE("averages: a start in % begins in a run of any length") {
  for (const std::int64_t steps : {1, 5, 10, 20, 40}) {
    for (const char* start : {"75%", "100%"}) {
      const Options spec = optim_spec("swa", {{"start", start}});
      Weights weights;
      WeightAverage average(std::span(&spec, 1), {.total_steps = steps, .steps_per_epoch = 10, .batch = 4},
                            weights.tensors(), 0);
      for (std::int64_t t = 0; t < steps; ++t) {
        weights.go(t);
        average.stepped(t);
      }
      INFO(steps << " " << start);
      CHECK(average.updates(0) > 0);
      CHECK(average.values()[1].item<std::int64_t>() == steps);  // the last update follows the last step
    }
  }
}

TEST_CASE("averages: what is refused") {
  const auto make = [](const char* entry, Value::Map options) {
    const Options spec = optim_spec(entry, std::move(options));
    WeightAverage(std::span(&spec, 1), hundred, {}, 0);
  };
  CHECK_THROWS_WITH(make("ema", {{"decay", 1}}), Catch::Contains("decay"));
  CHECK_THROWS_WITH(make("swa", {{"start", "5 min"}}), Catch::Contains("optim.start") && Catch::Contains("5 min"));
  CHECK_THROWS_WITH(
      make("swa", {{"start", "12 epochs"}}),
      Catch::Contains("optim.start") && Catch::Contains("within the run's 10 epochs, found a start after "
                                                        "12 epochs with the first update 1 epochs later"));
  CHECK_THROWS_WITH(make("swa", {{"start", "95 steps"}}), Catch::Contains("a start after 9.5 epochs"));
  CHECK_NOTHROW(make("swa", {{"start", "9 epochs"}}));
  CHECK_THROWS_WITH(make("ema", {{"every", "11 epochs"}}), Catch::Contains("the first update 11 epochs later"));
  // The length of a run under a time budget is not known yet.
  const Options late = optim_spec("swa", {{"start", "12 epochs"}});
  CHECK_NOTHROW(WeightAverage(std::span(&late, 1), {.total_steps = 0, .steps_per_epoch = 10, .batch = 4}, {}, 0));
}

}  // namespace trainlab::average_test
