// A training step of the recipe's own, with a native function in its place: what it is given, and that the fit resumes.
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>

#include "core/argument_table.h"
#include "core/files.h"
#include "data/batch_object.h"
#include "objects/model_object.h"
#include "objects/run_handle.h"
#include "support/fit_support.h"
#include "support/stand_in_device.h"
#include "tensor/tensor_object.h"
#include "tensor/types.h"

namespace trainlab::own_step_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

std::string own_fit() {
  return R"({"@": "fit", "name": "test", "data": {"@": "data.digits"}, "batch": 64, "steps": 12,
    "step": {"@": "function", "index": 0}, "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"},
    {"@": "nn.Linear", "out_features": 16}, {"@": "nn.BatchNorm1d"}, {"@": "nn.ReLU"}, {"@": "nn.Dropout", "p": 0.2},
    {"@": "nn.Linear", "out_features": 10}]}, "optim": {"@": "optim.AdamW", "lr": 0.01},
    "schedule": {"@": "sched.cosine"}, "on": {"step": {"@": "function", "index": 1}}})";
}

template <class T>
std::shared_ptr<T> object(const Argument& argument) {
  return std::dynamic_pointer_cast<T>(std::get<std::shared_ptr<Object>>(argument));
}

// Gradients of two batches add up before a step of the optimizer. `seen` is told of each batch.
std::shared_ptr<Callable> own_step(const std::function<void(const BatchObject&)>& seen = [](const BatchObject&) {}) {
  return native([seen](std::span<const Argument> arguments) -> std::vector<Argument> {
    const auto run = object<RunHandle>(arguments[0]);
    const auto batch = object<BatchObject>(arguments[1]);
    seen(*batch);
    const auto model = std::dynamic_pointer_cast<ModelObject>(run->models().at(""));
    const auto optimizer = std::dynamic_pointer_cast<OptimizerObject>(run->optimizers().at(""));
    const at::Tensor out = model->forward({&batch->columns.at("x"), 1}, Key(static_cast<std::uint64_t>(run->step())));
    const at::Tensor loss = out.log_softmax(-1).gather(1, batch->columns.at("y").unsqueeze(1)).neg().mean();
    loss.backward();
    if (run->step() % 2 == 1) {
      optimizer->step();
      optimizer->zero_grad();
    }
    const auto measured = std::make_shared<ArgumentTable>();
    measured->named.emplace("loss", std::make_shared<TensorObject>(loss));
    return {measured};
  });
}

// The hash of the newest `last`.
std::string last(const fs::path& folder) {
  fs::path newest;
  for (const auto& entry : fs::directory_iterator(folder / "checkpoints")) {
    const std::string name = entry.path().filename();
    if (name.starts_with("last-") && name.ends_with(".safetensors")) newest = std::max(newest, entry.path());
  }
  return hash_file(newest);
}

}  // namespace

TEST_CASE("a step of the recipe's own gets its batches where its model is, and trains the model") {
  const TemporaryFolder temporary;
  int batches = 0;
  const auto step = own_step([&](const BatchObject& batch) {
    ++batches;
    for (const char* column : {"x", "y"}) CHECK(batch.columns.at(column).device() == test_device());
  });
  const Value summary = run_one(parse_options(own_fit(), {step, stop_at(0)}), temporary.path());
  CHECK(summary["status"] == Value("done"));
  CHECK(batches == 12);
  CHECK(summary["metrics"]["train.loss"].number() < std::log(10.0));
}

TEST_CASE("a fit with a step of its own continues to the same bytes, also between two steps of its optimizer") {
  const TemporaryFolder temporary;
  run_one(parse_options(own_fit(), {own_step(), stop_at(0)}), temporary.path() / "whole");
  for (const std::int64_t step : {3, 6}) {
    INFO("interrupted at step " << step);
    const fs::path folder = temporary.path() / std::to_string(step);
    {
      const ClearStop clear;
      CHECK(run_one(parse_options(own_fit(), {own_step(), stop_at(step)}), folder)["status"] == Value("interrupted"));
    }
    CHECK(run_one(parse_options(own_fit(), {own_step(), stop_at(0)}), folder, true)["status"] == Value("done"));
    CHECK(last(folder) == last(temporary.path() / "whole"));
  }
}

TEST_CASE("the model of a step of the recipe's own is measured in evaluation mode, and trained in training mode") {
  const TemporaryFolder temporary;
  std::string json = own_fit();
  const std::string before = R"({"@": "data.digits"})";
  json.replace(json.find(before), before.size(),
               R"({"@": "data:split", "source": {"@": "data.digits"}, "train": 0.8, "val": 0.1, "test": 0.1, "seed": 7},
                  "validate": "4 steps", "loss": {"@": "function", "index": 2})");
  std::vector<bool> measured;
  const auto step = native([inner = own_step()](std::span<const Argument> arguments) -> std::vector<Argument> {
    CHECK(std::dynamic_pointer_cast<ModelObject>(object<RunHandle>(arguments[0])->models().at(""))->training);
    return inner->call(arguments);
  });
  const auto loss = native([&](std::span<const Argument> arguments) -> std::vector<Argument> {
    const auto run = object<RunHandle>(arguments[2]);
    measured.push_back(std::dynamic_pointer_cast<ModelObject>(run->models().at(""))->training);
    return {std::static_pointer_cast<Object>(
        std::make_shared<TensorObject>(object<TensorObject>(arguments[0])->tensor.mean()))};
  });
  run_one(parse_options(json, {step, stop_at(0), loss}), temporary.path());
  CHECK(measured == std::vector<bool>(4, false));  // three validations and the test part
}

TEST_CASE("tensors in run.state come back where they were") {
  const TemporaryFolder temporary;
  int checked = 0;
  const auto keeps = native([&](std::span<const Argument> arguments) -> std::vector<Argument> {
    const auto run = object<RunHandle>(arguments[0]);
    if (run->step() == 1) {
      run->state = {Value(Value::Map{}), {{"there", at::zeros({2}, on_test_device())}, {"here", at::zeros({2})}}};
    } else {
      CHECK(run->state.tensors.at("there").device() == test_device());
      CHECK(run->state.tensors.at("here").device() == at::kCPU);
      ++checked;
    }
    if (run->step() == 3) request_stop();
    return {};
  });
  {
    const ClearStop clear;
    run_one(parse_options(own_fit(), {own_step(), keeps}), temporary.path());
  }
  CHECK(run_one(parse_options(own_fit(), {own_step(), keeps}), temporary.path(), true)["status"] == Value("done"));
  CHECK(checked == 11);
}

TEST_CASE("a loss that is not finite in a step of its own ends the fit") {
  const TemporaryFolder temporary;
  const auto lost = native([](std::span<const Argument> arguments) -> std::vector<Argument> {
    const auto measured = std::make_shared<ArgumentTable>();
    const at::Tensor x = object<BatchObject>(arguments[1])->columns.at("x");
    measured->named.emplace("loss", std::make_shared<TensorObject>(x.sum().mul(std::nan(""))));
    return {measured};
  });
  const Value summary = run_one(parse_options(own_fit(), {lost, stop_at(0)}), temporary.path());
  CHECK(summary["status"] == Value("failed"));
  CHECK_THAT(summary["reason"].string(), Catch::Contains("the training loss is not finite"));
}

TEST_CASE("options that a step of its own must do itself are refused") {
  for (const char* const option : {"accumulate", "effective"}) {
    const std::string text = own_fit();
    const std::string more = std::string(R"(, ")") + option + R"(": 4})";
    const Options fit = parse_options(text.substr(0, text.size() - 1) + more, {own_step(), stop_at(0)});
    CHECK_THAT(error_of([&] { plan_fit(fit, test_settings()); }),
               Catch::Contains(std::string("fit.") + option +
                               ": a fit with a step of its own has no such option; the step can do it"));
  }
}

}  // namespace trainlab::own_step_test
