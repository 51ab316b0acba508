// The bytes of the state, and states of 8 bits and of bfloat16.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "optim/optimizer.h"
#include "optimizer_problems.h"
#include "specs.h"
#include "support/stand_in_device.h"

namespace trainlab::optimizers_test {

TEST_CASE("optimizers: bytes of state for each weight of a matrix of 1024 by 4096") {
  const auto bytes = [](const std::string& entry, Value::Map options, const std::vector<std::int64_t>& shape) {
    const Options spec = optim_spec(entry, std::move(options));
    const at::Tensor value = at::empty(shape, at::device(at::kMeta).dtype(at::kFloat));
    double sum = 0;
    for (const auto& [name, tensor, per_member] :
         make_optimizer(std::span(&spec, 1), {{.name = "w", .value = value}}, 0)->state())
      sum += name == "step" ? 0 : static_cast<double>(tensor.nbytes());
    return sum / static_cast<double>(value.numel());
  };
  const std::vector<std::int64_t> matrix{1024, 4096};
  CHECK(bytes("optim.SGD", {}, matrix) == 0);
  CHECK(bytes("optim.SGD", {{"momentum", 0.9}}, matrix) == 4);
  CHECK(bytes("optim.LAMB", {}, matrix) == 8);
  CHECK(bytes("optim.AdamW", {}, matrix) == 8);
  for (const std::string adam : {"optim.Adam", "optim.AdamW"}) {
    CHECK(bytes(adam, {{"state", "bfloat16"}}, matrix) == 4);
    CHECK(bytes(adam, {{"state", "8bit"}}, matrix) == 2 + 8.0 / 256);
    CHECK(bytes(adam, {{"state", "8bit"}}, {4095}) == 8);  // a small tensor
  }
  CHECK(bytes("optim.Lion", {}, matrix) == 4);
  CHECK(bytes("optim.Lion", {{"state", "bfloat16"}}, matrix) == 2);
  CHECK(bytes("optim.Lion", {{"state", "8bit"}}, matrix) == 1 + 4.0 / 256);
  CHECK(bytes("optim.SGDScheduleFree", {}, matrix) == Approx(4).epsilon(1e-5));  // and two numbers
  CHECK(bytes("optim.AdamWScheduleFree", {}, matrix) == Approx(8).epsilon(1e-5));
  CHECK(bytes("optim.Prodigy", {}, matrix) == Approx(16).epsilon(1e-5));  // and three numbers
  CHECK(bytes("optim.SOAP", {}, {1024, 1024}) == 24);
  CHECK(bytes("optim.SOAP", {}, matrix) == 8 + 8 * (1024.0 / 4096 + 4096.0 / 1024));
  CHECK(bytes("optim.SOAP", {{"max_precond_dim", 2048}}, matrix) == 8 + 8 * 1024.0 / 4096);
  CHECK(bytes("optim.SOAP", {}, {4096}) == 8);
  CHECK(bytes("optim.Adafactor", {}, matrix) == 4.0 / 1024 + 4.0 / 4096);
  CHECK(bytes("optim.Adafactor", {}, {4096}) == 4);
  CHECK(bytes("optim.Adafactor", {}, {64, 32, 3, 3}) == 4.0 / 64 + 4.0 / 288);
}

TEST_CASE("optimizers: states of 8 bits and of bfloat16 over 100 steps") {
  for (const Value& golden : optim_golden()["lean"].list()) {
    const Options spec = optim_spec(golden["entry"].string(), golden["options"].map());
    INFO(golden["entry"].string() << " " << spec.string("state"));
    const at::Tensor k = at::arange(5000, at::kDouble).to(test_device());
    at::Tensor value = k.mul(0.7).add(1).sin().view({50, 100});
    const auto optimizer = make_optimizer(std::span(&spec, 1), {{.name = "w", .value = value}}, 0);
    const double rate = golden["rate"].number();
    const Value::List& steps = optim_golden()["steps"].list();
    std::size_t compared = 0;
    for (std::int64_t t = 0; t < 100; ++t) {
      const at::Tensor x = value.flatten(), curve = k.remainder(7).mul(0.3).add(0.2);
      const at::Tensor plain = curve * x + x.mul(3).cos().mul(0.3) + k.add(0.3 * static_cast<double>(t)).sin().mul(0.5);
      const at::Tensor gradient = plain.mul(at::full_like(k, 10).pow(k.remainder(5).neg()));
      optimizer->step(std::vector{gradient.view_as(value)}, std::span(&rate, 1));
      if (t + 1 != steps[compared].integer()) continue;
      const Value::List& expected = golden["values"].list()[compared].list();
      const at::Tensor found = value.flatten().to(at::kCPU);
      double worst = 0;
      for (std::size_t i = 0; i < expected.size(); ++i)
        worst = std::max(worst, std::abs(found.const_data_ptr<double>()[83 * i] - expected[i].number()));
      INFO("step " << t + 1);
      CHECK(worst < 1e-10);
      ++compared;
    }
    CHECK(compared == steps.size());
  }
}

namespace {

// Two large matrices and a small one, of one or several members that have problems of their own.
struct LargeProblem {
  LargeProblem(const Options& spec, std::vector<std::int64_t> its_members, bool is_stacked) : members(its_members) {
    for (const std::int64_t size : {70, 64, 3}) {
      std::vector<at::Tensor> slices;
      for (const std::int64_t m : members)
        slices.push_back(at::arange(size * 71, at::kFloat).mul(0.7).add(static_cast<double>(m)).sin().view({size, 71}));
      values.push_back((is_stacked ? at::stack(slices) : slices[0]).to(test_device()));
    }
    std::vector<OptimizedParameter> parameters;
    for (const at::Tensor& value : values)
      parameters.push_back({.name = std::to_string(parameters.size() + 1) + ".w", .value = value});
    const std::vector<Options> specs(is_stacked ? members.size() : 1, spec);
    optimizer = make_optimizer(specs, parameters, is_stacked ? static_cast<std::int64_t>(members.size()) : 0);
  }

  void step(std::int64_t t, std::span<const std::uint8_t> active = {}) {
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& value : values) gradients.push_back(value.mul(0.5).add(0.1 * static_cast<double>(t % 3)));
    const bool is_stacked = values[0].dim() == 3;
    const std::vector<double> rates(is_stacked ? members.size() : 1, 0.01);
    optimizer->step(gradients, rates, active);
  }

  std::vector<std::int64_t> members;
  std::vector<at::Tensor> values;
  std::unique_ptr<Optimizer> optimizer;
};

}  // namespace

TEST_CASE("optimizers: lean states of stacked members, of members that rest, and after a restart") {
  for (const std::string entry : {"optim.Adam", "optim.AdamW", "optim.Lion"}) {
    for (const std::string state : {"bfloat16", "8bit"}) {
      INFO(entry << " " << state);
      const Options spec = optim_spec(entry, {{"state", state}, {"weight_decay", 0.1}});
      LargeProblem together(spec, {0, 1, 2}, true), alone(spec, {1}, false), resting(spec, {0, 1, 2}, true);
      for (std::int64_t t = 0; t < 10; ++t) {
        together.step(t);
        alone.step(t);
      }
      for (std::size_t i = 0; i < alone.values.size(); ++i)
        CHECK(at::equal(together.values[i].select(0, 1), alone.values[i]));

      const std::vector<std::uint8_t> first_two = {1, 1, 0};
      resting.step(0);
      const at::Tensor third = resting.values[0].select(0, 2).clone();
      for (std::int64_t t = 1; t < 10; ++t) resting.step(t, first_two);
      CHECK(at::equal(resting.values[0].select(0, 1), alone.values[0]));
      CHECK(at::equal(resting.values[0].select(0, 2), third));

      LargeProblem resumed(spec, {1}, false);
      const auto saved = alone.optimizer->state(), restored = resumed.optimizer->state();
      REQUIRE(saved.size() == restored.size());
      for (std::size_t i = 0; i < saved.size(); ++i) {
        CHECK(saved[i].name == restored[i].name);
        restored[i].tensor.copy_(saved[i].tensor);
      }
      for (std::size_t i = 0; i < alone.values.size(); ++i) resumed.values[i].copy_(alone.values[i]);
      for (std::int64_t t = 10; t < 15; ++t) {
        alone.step(t);
        resumed.step(t);
      }
      for (std::size_t i = 0; i < alone.values.size(); ++i) CHECK(at::equal(alone.values[i], resumed.values[i]));
    }
  }
}

TEST_CASE("optimizers: a group can keep its state in another form, and an optimizer without lean states says so") {
  const Options spec =
      optim_spec("optim.AdamW", {{"state", "8bit"}, {"groups", Value::Map{{"params", "1.*"}, {"state", "full"}}}});
  const at::Tensor value = at::ones({64, 64});
  const auto optimizer = make_optimizer(std::span(&spec, 1),
                                        {{.name = "1.w", .value = value}, {.name = "2.w", .value = value.clone()}}, 0);
  std::map<std::string, std::string> types;
  for (const auto& [name, tensor, per_member] : optimizer->state()) types[name] = c10::toString(tensor.scalar_type());
  CHECK(types == std::map<std::string, std::string>{{"1.w.exp_avg", "Float"},
                                                    {"1.w.exp_avg_sq", "Float"},
                                                    {"2.w.exp_avg", "Byte"},
                                                    {"2.w.exp_avg.largest", "Float"},
                                                    {"2.w.exp_avg_sq", "Byte"},
                                                    {"2.w.exp_avg_sq.largest", "Float"},
                                                    {"step", "Float"}});
  try {
    optim_spec("optim.SGD", {{"state", "8bit"}});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("optim.SGD") != std::string::npos);
    CHECK(error.hint() == "optim.Adam, optim.AdamW and optim.Lion can keep a lean state");
  }
  CHECK_THROWS_WITH(optim_spec("optim.Adam", {{"state", "4bit"}}), Catch::Contains("state"));
}

TEST_CASE("optimizers: with 8 bits a gradient far below the largest of its block makes no larger a step") {
  // With squares rounded to 0 these steps would be 9 to 18 times those of AdamW.
  const Options lean = optim_spec("optim.Adam", {{"state", "8bit"}}), full = optim_spec("optim.Adam");
  const at::Tensor sizes = at::full({4096}, 1e-4).to(test_device());
  sizes.narrow(0, 0, 16).fill_(1);
  std::vector<double> moved;
  for (const Options& spec : {lean, full}) {
    const at::Tensor value = at::zeros_like(sizes);
    const auto optimizer = make_optimizer(std::span(&spec, 1), {{.name = "w", .value = value}}, 0);
    const double rate = 0.001;
    for (int t = 0; t < 50; ++t)
      optimizer->step(std::vector{at::arange(4096, at::kFloat).mul(0.7).add(t).sin().to(test_device()) * sizes},
                      std::span(&rate, 1));
    moved.push_back(value.narrow(0, 16, 200).abs().mean().item<double>());
  }
  CHECK(moved[0] < moved[1]);
}

}  // namespace trainlab::optimizers_test
