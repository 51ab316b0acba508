// The objects of hand-written loops: what they give to a checkpoint is what they need to go on.
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>
#include <string>

#include "objects/model_object.h"
#include "support/fit_support.h"

namespace trainlab::model_object_test {

using namespace test;

namespace {

std::shared_ptr<ModelObject> made(std::int64_t seed, const std::string& layers = R"({"@": "nn.Linear",
    "out_features": 3}, {"@": "nn.BatchNorm1d"}, {"@": "nn.Dropout", "p": 0.5})") {
  Signals columns;
  columns.emplace("x", Signal{.shape = {2}});
  return build_model(parse_options(R"({"@": "nn.Sequential", "layers": [)" + layers + "]}"), std::move(columns), seed,
                     at::kFloat, at::kCPU);
}

at::Tensor output_of(const ModelObject& model, std::uint64_t key) {
  const at::Tensor x = at::arange(8, at::kFloat).reshape({4, 2});
  return model.forward({&x, 1}, Key(key));
}

OptimizerObject optimizer_of(const ModelObject& model, const std::string& spec) {
  return {parse_options(spec), model.parameters()};
}

constexpr const char* sgd = R"({"@": "optim.SGD", "lr": 0.5, "momentum": 0.9})";

NamedTensors copies(const NamedTensors& tensors) {
  NamedTensors all;
  for (const auto& [name, tensor] : tensors) all.emplace(name, tensor.detach().clone());
  return all;
}

void step(const ModelObject& model, OptimizerObject& optimizer, std::uint64_t key) {
  optimizer.zero_grad();
  output_of(model, key).square().sum().backward();
  optimizer.step();
}

}  // namespace

TEST_CASE("a model is drawn by its seed, and its passes by their key") {
  const auto one = made(1), same = made(1), other = made(2);
  CHECK(at::equal(one->tensors().at("1.weight"), same->tensors().at("1.weight")));
  CHECK_FALSE(at::equal(one->tensors().at("1.weight"), other->tensors().at("1.weight")));
  CHECK(at::equal(output_of(*one, 5), output_of(*same, 5)));
  CHECK_FALSE(at::equal(output_of(*one, 6), output_of(*same, 5)));
  one->training = false;
  CHECK(at::equal(output_of(*one, 5), output_of(*one, 6)));  // no dropout
}

TEST_CASE("tensors of a model share memory with it, and have the gradients of now") {
  const auto model = made(1);
  CHECK(model->tensors().size() == 6);  // weight and bias of each layer, and two buffers of the norm
  CHECK_FALSE(model->tensors().at("1.weight").grad().defined());
  output_of(*model, 1).sum().backward();
  CHECK(model->tensors().at("1.weight").grad().defined());
  model->tensors().at("1.weight").zero_();
  CHECK(model->parameters().front().value.abs().max().item<float>() == 0);
}

TEST_CASE("a checkpoint keeps gradients that add up over steps, and whether the model trains") {
  const auto model = made(1), other = made(2);
  output_of(*model, 1).square().sum().backward();
  model->training = false;
  const NamedTensors checkpoint = copies(model->checkpoint());
  output_of(*other, 3).sum().backward();
  other->restore(checkpoint);
  CHECK_FALSE(other->training);
  for (const auto& [name, tensor] : model->checkpoint()) {
    INFO(name);
    CHECK(at::equal(other->checkpoint().at(name), tensor));
  }
  // A checkpoint without gradients leaves none.
  const auto fresh = made(1);
  other->restore(copies(fresh->checkpoint()));
  CHECK(other->training);
  CHECK_FALSE(other->parameters().front().value.grad().defined());
}

TEST_CASE("what does not fit is refused, and nothing of it is restored") {
  const auto model = made(1);
  const NamedTensors before = copies(model->tensors());
  NamedTensors wrong = copies(made(2)->tensors());
  wrong.at("2.weight") = at::zeros({4});
  CHECK(error_of([&] { model->restore(wrong); }) == "expected 2.weight of shape [3], found [4]");
  wrong.erase("2.weight");
  CHECK(error_of([&] { model->restore(wrong); }) == "there is no tensor 2.weight to restore");
  for (const auto& [name, tensor] : model->tensors()) CHECK(at::equal(before.at(name), tensor));
}

TEST_CASE("a loop that is restored goes on with the bytes of one that was not interrupted") {
  const auto model = made(1), resumed = made(2);
  OptimizerObject optimizer = optimizer_of(*model, sgd), other = optimizer_of(*resumed, sgd);
  for (std::uint64_t k = 0; k < 3; ++k) step(*model, optimizer, k);
  optimizer.rate = 0.125;
  resumed->restore(copies(model->checkpoint()));
  other.restore(copies(optimizer.checkpoint()));
  CHECK(other.rate == 0.125);
  for (std::uint64_t k = 3; k < 6; ++k) {
    step(*model, optimizer, k);
    step(*resumed, other, k);
  }
  for (const auto& [name, tensor] : model->tensors()) {
    INFO(name);
    CHECK(at::equal(resumed->tensors().at(name), tensor));
  }
}

TEST_CASE("a step keeps the gradients, leaves out parameters without one, and can go up") {
  const auto model = made(1, R"({"@": "nn.Linear", "out_features": 1})");
  OptimizerObject optimizer = optimizer_of(*model, R"({"@": "optim.SGD", "lr": 1.0})");
  const std::vector<OptimizedParameter> parameters = model->parameters();
  const at::Tensor weight = parameters.at(0).value.detach(), bias = parameters.at(1).value.detach();
  const at::Tensor before = weight.clone(), bias_before = bias.clone();
  parameters[0].value.mutable_grad() = at::ones({1, 2}).mul_(3);
  optimizer.step();
  CHECK(at::equal(weight, before.sub(3)));
  CHECK(at::equal(bias, bias_before));
  CHECK(at::equal(parameters[0].value.grad(), at::ones({1, 2}).mul_(3)));
  optimizer.maximizes = true;
  optimizer.rate = 0.5;
  optimizer.step();
  CHECK(at::equal(weight, before.sub(3).add(1.5)));
  CHECK(at::equal(parameters[0].value.grad(), at::ones({1, 2}).mul_(3)));
  optimizer.zero_grad();
  CHECK_FALSE(parameters[0].value.grad().defined());
}

TEST_CASE("optimizers that a loop of the recipe's own cannot use are refused") {
  const auto model = made(1);
  CHECK_THAT(error_of([&] { optimizer_of(*model, R"({"@": "optim.LBFGS"})").step(); }),
             Catch::Contains("optim.LBFGS evaluates the loss more than once in a step"));
  CHECK_THAT(error_of([&] { OptimizerObject(parse_options(sgd), {}); }),
             Catch::Contains("expected parameters to optimize, found none"));
  CHECK_THAT(
      error_of([&] { OptimizerObject(parse_options(sgd), {{.name = "w", .value = at::ones({2}), .decays = true}}); }),
      Catch::Contains("expected tensors that require grad, found w, which does not"));
}

}  // namespace trainlab::model_object_test
