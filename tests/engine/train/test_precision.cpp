// Fits in bfloat16 and float16: near float32, resumed to the same bytes; steps of float16 that overflow.
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/files.h"
#include "step/loss_scaler.h"
#include "support/fit_support.h"
#include "support/last_checkpoint.h"
#include "support/overflowing_loss.h"
#include "tensor/safetensors.h"
#include "tensor/tensor_object.h"
#include "train/memory_prediction.h"

namespace trainlab::precision_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

Value trained(const std::string& json, const fs::path& folder, std::vector<std::shared_ptr<Callable>> functions = {},
              bool resumed = false) {
  return run_one(parse_options(json, std::move(functions)), folder, resumed);
}

Value precision(const char* compute, std::int64_t skipped, double scale) {
  return Value::Map{{"weights", "float32"}, {"compute", compute}, {"skipped_steps", skipped}, {"scale", scale}};
}

std::string refused(const std::string& precision) {
  return error_of(
      [&] { plan_fit(parse_options(digits_fit(R"(, "steps": 2, "precision": )" + precision)), test_settings()); });
}

}  // namespace

TEST_CASE("fits in bfloat16 and float16 come out near float32, with weights in float32") {
  const TemporaryFolder temporary;
  const auto of = [&](const std::string& type) {
    return trained(digits_fit(R"(, "epochs": 4, "precision": ")" + type + "\""), temporary.path() / type);
  };
  const Value whole = of("float32");
  CHECK(whole["precision"] == precision("float32", 0, 1));
  for (const char* type : {"bfloat16", "float16"}) {
    INFO(type);
    const Value few = of(type);
    for (const char* metric : {"train.loss", "val.loss", "test.loss"}) {
      CHECK(few["metrics"][metric].number() == Approx(whole["metrics"][metric].number()).epsilon(0.03));
      CHECK(few["metrics"][metric].number() != whole["metrics"][metric].number());
    }
    CHECK(few["precision"] == precision(type, 0, std::string(type) == "float16" ? 65536 : 1));
    for (const auto& [name, tensor] : last_checkpoint(temporary.path() / type)) {
      INFO(name);
      if (tensor.is_floating_point() && name != "loss_scale") CHECK(tensor.scalar_type() == at::kFloat);
    }
  }
}

TEST_CASE("an interrupted fit in fewer digits continues to the same bytes") {
  const TemporaryFolder temporary;
  const std::string on_step = R"(, "on": {"step": {"@": "function", "index": 1}})";
  for (const char* type : {"bfloat16", "float16"}) {
    const std::string fit = [&] {
      std::string json = with_own_loss(R"(, "epochs": 2, "accumulate": 2, "ema": {"@": "ema"})");
      return json.replace(json.find("float16"), 7, type);
    }();
    const fs::path whole = temporary.path() / type / "whole";
    const Value uninterrupted = trained(fit, whole, {overflowing({5})});
    for (const std::int64_t step : {5, 6, 11}) {
      INFO(type << ", interrupted at step " << step);
      const fs::path folder = temporary.path() / type / std::to_string(step);
      {
        const ClearStop clear;
        std::string interrupted = fit;
        interrupted.insert(interrupted.size() - 1, on_step);
        CHECK(trained(interrupted, folder, {overflowing({5}), stop_at(step)})["status"] == Value("interrupted"));
      }
      const Value rest = trained(fit, folder, {overflowing({5})}, true);
      CHECK(same_tensors(last_checkpoint(folder), last_checkpoint(whole)));
      CHECK(rest["metrics"] == uninterrupted["metrics"]);
      CHECK(rest["precision"] == uninterrupted["precision"]);
    }
  }
}

TEST_CASE("a step of float16 whose gradients are not finite is left out and halves the scale") {
  const TemporaryFolder temporary;
  const Value summary =
      trained(with_own_loss(R"(, "steps": 4, "ema": {"@": "ema"})"), temporary.path() / "skipped", {overflowing({3})});
  CHECK(summary["status"] == Value("done"));
  CHECK(summary["precision"] == precision("float16", 1, 32768));
  trained(with_own_loss(R"(, "steps": 3, "ema": {"@": "ema"})"), temporary.path() / "short", {overflowing({})});
  NamedTensors skipped = last_checkpoint(temporary.path() / "skipped"),
               before = last_checkpoint(temporary.path() / "short");
  CHECK(skipped.erase("loss_scale") == 1);
  CHECK(before.erase("loss_scale") == 1);
  CHECK(same_tensors(skipped, before));

  const Value on = trained(with_own_loss(R"(, "epochs": 3)"), temporary.path() / "on", {overflowing({3, 10})});
  CHECK(on["precision"] == precision("float16", 2, 16384));
  CHECK(on["metrics"]["val.loss"].number() < 1.5);
}

TEST_CASE("a loss that is not finite in float16 is a step that is left out too") {
  const TemporaryFolder temporary;
  const auto function = overflowing({3}, std::numeric_limits<double>::infinity());
  const Value summary = trained(with_own_loss(R"(, "steps": 6)"), temporary.path(), {function});
  CHECK(summary["status"] == Value("done"));
  CHECK(summary["precision"] == precision("float16", 1, 32768));
  CHECK(std::isfinite(summary["metrics"]["train.loss"].number()));
}

TEST_CASE("a fit in float16 whose gradients are never finite ends with a reason") {
  const TemporaryFolder temporary;
  const auto always = native([](Arguments arguments) -> Results {
    const at::Tensor& out = object_at<TensorObject>(arguments, 0).tensor;
    return {std::make_shared<TensorObject>(out.sub(out.detach()).abs().sqrt().sum().add(1))};  // no derivative at 0
  });
  const Value summary = trained(with_own_loss(R"(, "epochs": 5)"), temporary.path(), {always});
  CHECK(summary["status"] == Value("failed"));
  // A device that computes behind the host is asked at the validation, at the end of the epoch.
  const std::string steps = test_settings().device == "cpu" ? "30" : "46";
  CHECK_THAT(summary["reason"].string(), Catch::Contains("not finite in " + steps + " steps in a row"));
  CHECK_THAT(summary["reason"].string(), Catch::EndsWith("at step " + steps));
}

TEST_CASE("the scale doubles after an interval without a step that was left out") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  LossScaler scaler(0, at::kCPU, 4);
  std::vector<double> scales;
  const std::vector<std::uint8_t> active{1};
  for (std::int64_t step = 1; step <= 12; ++step) {
    const bool overflows = step == 3 || step == 7;
    std::vector<at::Tensor> gradients{at::full({2}, scaler.scaling(0).scale), {}, at::ones({3})};
    if (overflows) gradients[2][1] = infinity;
    const Verdict verdict =
        scaler.apply(gradients, {.step = step, .loss = at::ones({}), .active = active, .places = {}});
    CHECK(verdict.skipped == (overflows ? std::vector<std::uint8_t>{1} : std::vector<std::uint8_t>{}));
    if (!overflows) CHECK(gradients[0][0].item<double>() == 1);
    scales.push_back(scaler.scaling(0).scale);
  }
  CHECK(scales ==
        std::vector<double>{65536, 65536, 32768, 32768, 32768, 32768, 16384, 16384, 16384, 16384, 32768, 32768});
  CHECK(scaler.scaling(0).skipped_steps == 2);
}

TEST_CASE("too many steps that were left out in a row are a failure also after later ones, and leave a scale") {
  LossScaler scaler(0, at::kCPU);
  scaler.leave_to_optimizer(true);
  const std::vector<std::uint8_t> active{1};
  const auto step = [&](double gradient) {
    std::vector<at::Tensor> gradients{at::full({2}, gradient)};
    CHECK(scaler.apply(gradients, {.loss = at::ones({}), .active = active, .places = {}}).skipped.empty());
    REQUIRE(scaler.found_inf().size() == 1);
    return scaler.found_inf().front().item<float>();
  };
  for (int i = 0; i < 29; ++i) CHECK(step(std::numeric_limits<double>::infinity()) == 1);
  CHECK_FALSE(scaler.failure(0));
  CHECK(step(1) == 0);
  for (int i = 0; i < 200; ++i) step(std::numeric_limits<double>::quiet_NaN());
  CHECK(step(0) == 0);
  CHECK(scaler.failure(0).value().find("200 steps in a row") != std::string::npos);
  CHECK(scaler.scaling(0).scale == 0x1p-126);
}

TEST_CASE("each member of a group has a scale of its own") {
  LossScaler scaler(3, at::kCPU);
  const at::Tensor scaled = scaler.scaled(at::ones({3}));
  CHECK(scaled[2].item<double>() == 65536);
  std::vector<at::Tensor> gradients{at::full({3, 2}, 65536.0)};
  gradients[0][1][0] = std::numeric_limits<double>::quiet_NaN();
  gradients[0][2][0] = std::numeric_limits<double>::infinity();
  const std::vector<std::uint8_t> active{1, 1, 0};
  const Verdict verdict =
      scaler.apply(gradients, {.members = 3, .loss = at::ones({3}), .active = active, .places = {}});
  CHECK(verdict.skipped == std::vector<std::uint8_t>{0, 1, 0});
  CHECK(gradients[0][0][1].item<double>() == 1);
  CHECK(scaler.scaling(0).scale == 65536);
  CHECK(scaler.scaling(1).scale == 32768);
  CHECK(scaler.scaling(2).scale == 65536);
  CHECK(scaler.scaled(at::ones({3}))[1].item<double>() == 32768);
}

TEST_CASE("a group in fewer digits stays near its members alone") {
  for (const char* type : {"bfloat16", "float16"}) {
    INFO(type);
    const TemporaryFolder temporary;
    const RunSettings settings = test_settings();
    prepare_arithmetic(1);
    std::vector<FitMember> members;
    std::vector<Options> fits;
    for (int m = 0; m < 3; ++m) {
      fits.push_back(parse_options(digits_fit(R"(, "steps": 30, "precision": ")" + std::string(type) +
                                              R"(", "seed": )" + std::to_string(m + 1))));
      const fs::path folder = temporary.path() / ("member" + std::to_string(m));
      make_directories(folder);
      members.push_back({.options = fits.back(), .context = quiet_context(folder, settings)});
    }
    const std::vector<Value> together = run_fits(plan_fit(members.front().options, settings), members, true);
    for (std::size_t m = 0; m < fits.size(); ++m) {
      const Value alone = run_one(fits[m], temporary.path() / ("alone" + std::to_string(m)));
      CHECK(together[m]["metrics"]["val.loss"].number() == Approx(alone["metrics"]["val.loss"].number()).epsilon(0.02));
      CHECK(together[m]["precision"] == alone["precision"]);
    }
  }
}

TEST_CASE("the predicted memory knows the type in which layers compute") {
  const auto kept = [](const char* type) {
    std::string json = digits_fit(R"(, "steps": 2, "precision": ")" + std::string(type) + "\"");
    json.replace(json.find("\"batch\": 64"), 11, "\"batch\": 512");
    const std::string model = json.substr(json.find("\"model\""), json.find("\"loss\"") - json.find("\"model\""));
    json.replace(json.find(model), model.size(), R"("model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"},
      {"@": "nn.Linear", "out_features": 512}, {"@": "nn.GELU"}, {"@": "nn.Linear", "out_features": 512},
      {"@": "nn.GELU"}, {"@": "nn.Linear", "out_features": 10}]}, )");
    const MemoryPrediction predicted = predict_memory(plan_fit(parse_options(json), test_settings()));
    CHECK(predicted.estimated_because.empty());
    return static_cast<double>(predicted.memory.ledger.of(MemoryKind::activations));
  };
  const double whole = kept("float32");
  CHECK(kept("bfloat16") < 0.85 * whole);
  CHECK(kept("float16") < 0.85 * whole);
}

TEST_CASE("types and patterns that do not go together are refused by name") {
  CHECK_THAT(refused(R"("int8")"), Catch::Contains("precision"));
  CHECK_THAT(refused(R"({"keep": ["1"]})"), Catch::Contains("compute"));
  CHECK_THAT(refused(R"({"compute": "bfloat16", "weights": "float64"})"),
             Catch::Contains("precision.weights") && Catch::Contains("goes with weights in float32, found float64"));
  CHECK_THAT(refused(R"({"compute": "float32", "keep": ["2"]})"),
             Catch::Contains("precision.keep") && Catch::Contains("already"));
  CHECK_THAT(refused(R"({"compute": "bfloat16", "keep": ["2", "7"]})"),
             Catch::Contains("precision.keep") && Catch::Contains("no layer matches \"7\""));
  CHECK(refused(R"({"compute": "bfloat16", "keep": ["2", "Dropout"]})") == "");
  CHECK_THAT(refused(R"({"compute": "float16", "weights": "bfloat16"})"),
             Catch::Contains("precision.weights") && Catch::Contains("goes with weights in float32, found bfloat16"));
  CHECK_THAT(refused(R"({"compute": "bfloat16", "rounding": "stochastic"})"),
             Catch::Contains("precision.rounding") && Catch::Contains("weights in float32 are not rounded"));
}

}  // namespace trainlab::precision_test
