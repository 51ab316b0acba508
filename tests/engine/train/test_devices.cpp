// Fits on a second device: one that is not there, one that goes away, and what they have in common with the CPU.
#include <ATen/ops/empty.h>

#include <catch2/catch.hpp>

#include <filesystem>

#include "core/files.h"
#include "support/fit_support.h"
#include "support/stand_in_device.h"
#include "tensor/device.h"
#include "tensor/types.h"

namespace trainlab::devices_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

RunSettings on(const std::string& device) {
  register_stand_in();
  RunSettings settings = test_settings();
  settings.device = device;
  return settings;
}

// As a run does, which tells LibTorch's errors as errors of the project.
Value run_stage(const Options& fit, const fs::path& folder, bool resumed, const RunSettings& settings) {
  make_directories(folder);
  prepare_arithmetic(1);
  const auto& stage = full_registry().implementation<StageKind>(fit.entry());
  return stage.prepare(fit, settings)(quiet_context(folder, settings, resumed));
}

// Name and hash of the newest `last`.
std::string last_weights(const fs::path& folder) {
  fs::path newest;
  for (const auto& entry : fs::directory_iterator(folder / "checkpoints")) {
    const std::string name = entry.path().filename();
    if (name.starts_with("last-") && name.ends_with(".safetensors")) newest = std::max(newest, entry.path());
  }
  return newest.filename().string() + " " + hash_file(newest);
}

}  // namespace

TEST_CASE("a device that is not there, or that nobody knows, is refused with the fit") {
  const Options fit = parse_options(digits_fit(R"(, "steps": 1)"));
  const auto refused = [&](const std::string& device) { return error_of([&] { plan_fit(fit, on(device)); }); };
  CHECK_THAT(refused("stand_in:7"),
             Catch::StartsWith("device stand_in:7 is not there: found 2, the last is stand_in:1"));
  CHECK_THAT(refused("stand_out"), Catch::StartsWith("expected a device, found \"stand_out\""));
  CHECK_THAT(refused("stand_in:"), Catch::StartsWith("expected a device, found \"stand_in:\""));
}

TEST_CASE("a fit draws the same numbers on every device, and learns alike") {
  const TemporaryFolder temporary;
  const Options fit = parse_options(digits_fit(R"(, "epochs": 2, "precision": "float64")"));
  const Value here = run_one(fit, temporary.path() / "cpu", false, on("cpu"));
  const Value there = run_one(fit, temporary.path() / "stand_in", false, on("stand_in"));
  for (const char* name : {"train.loss", "val.loss", "test.loss"})
    CHECK(there["metrics"][name].number() == Approx(here["metrics"][name].number()).epsilon(1e-9));
}

TEST_CASE("no step reads the device, but one in float16 that the device cannot leave out by itself") {
  const auto reads = [](const std::string& options, int steps, const std::string& optim = "") {
    const TemporaryFolder temporary;
    const std::string length = R"(, "validate": "1000 steps", "steps": )" + std::to_string(steps);
    const Options fit = parse_options(optim.empty() ? digits_fit(length + options)
                                                    : with_optimizer(digits_fit(length + options), optim));
    const int before = stand_in_reads();
    const Value summary = run_one(fit, temporary.path(), false, on("stand_in"));
    CHECK(summary["status"] == Value("done"));
    return stand_in_reads() - before;
  };
  const std::string more = R"(, "clip": 1, "accumulate": 2, "ema": {"@": "ema"})";
  for (const std::string precision : {"float32", "bfloat16", "float16"}) {
    for (const std::string& others : {std::string(), more, std::string(R"(, "stop": {"@": "stop.evidence"})")}) {
      const std::string options = R"(, "precision": ")" + precision + "\"" + others;
      INFO(options);
      CHECK(reads(options, 3) > 0);                                // of the validation and the checkpoint
      const bool asks = precision == "float16" && others == more;  // the average has to know
      CHECK(reads(options, 9) - reads(options, 3) == (asks ? 6 : 0));
    }
  }
  const auto reads_in_float16 = [&](const std::string& optim) {
    const std::string options = R"(, "precision": "float16", "clip": 1)";
    INFO(optim);
    return reads(options, 9, optim) - reads(options, 3, optim);
  };
  CHECK(reads_in_float16(R"({"@": "optim.SGD", "momentum": 0.9})") == 0);
  CHECK(reads_in_float16(R"({"@": "optim.SGD", "momentum": 0.9, "dampening": 0.1})") == 6);
  CHECK(reads_in_float16(R"({"@": "optim.Lion"})") == 6);
}

TEST_CASE("whenever its device goes away, a fit ends with one message, and goes on to the same bytes") {
  const std::string text = digits_fit(
      R"(, "epochs": 2, "checkpoint": "10 steps", "clip": {"norm": 1}, "ema": {"@": "ema", "decay": 0.9},
         "schedule": {"@": "sched.cosine"})");
  const Options fit = parse_options(text);
  const TemporaryFolder temporary;
  const RunSettings settings = on("stand_in");
  const fs::path whole = temporary.path() / "whole";
  run_stage(fit, whole, false, settings);
  int failures = 0;
  for (std::int64_t calls = 0;; calls += calls / 2 + 1) {
    INFO("after " << calls << " calls");
    const fs::path folder = temporary.path() / std::to_string(calls);
    {
      const LostDevice device(calls);
      const std::string error = error_of([&] { run_stage(fit, folder, false, settings); });
      if (!device.is_gone()) break;
      ++failures;
      CHECK_THAT(error,
                 Catch::Contains("the device has failed: stand-in error: the device is not there any more\n  hint: a "
                                 "run goes on from its last checkpoint when it is resumed") &&
                     !Catch::Contains("driver"));
      CHECK(error.find("has failed", error.find("has failed") + 1) == std::string::npos);
    }
    const Value rest = run_stage(fit, folder, true, settings);
    CHECK(rest["status"] == Value("done"));
    CHECK(last_weights(folder) == last_weights(whole));
    CHECK(rows_without_seconds(folder) == rows_without_seconds(whole));
  }
  CHECK(failures > 15);
}

TEST_CASE("a step for which the device has no room goes on in parts, and ends in the bytes of these parts") {
  const auto fit_of = [](const std::string& batches) {
    return parse_options(R"({"@": "fit", "name": "test", "loss": "cross_entropy", "epochs": 2,
      "data": {"@": "data:split", "source": {"@": "data.digits"}, "train": 0.8, "val": 0.2, "seed": 1},
      "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 256},
                {"@": "nn.BatchNorm1d"}, {"@": "nn.GELU"}, {"@": "nn.Dropout", "p": 0.1},
                {"@": "nn.Linear", "out_features": 10}]},
      "optim": {"@": "optim.SGD", "lr": 0.1}, )" +
                         batches + "}");
  };
  const TemporaryFolder temporary;
  const RunSettings settings = on("stand_in:1");
  const auto peak_of = [&](const std::string& name, const std::string& batches) {
    run_one(fit_of(batches), temporary.path() / name, false, settings);
    return device_at(parse_device("stand_in:1")).memory().peak;
  };
  const std::int64_t fits = peak_of("parts", R"("batch": 64, "accumulate": 4)");
  const std::int64_t too_much = peak_of("larger", R"("batch": 128, "accumulate": 2)");
  REQUIRE(fits < too_much);
  const fs::path folder = temporary.path() / "full";
  make_directories(folder);
  std::vector<std::string> said;
  StageContext context = quiet_context(folder, settings);
  context.say_inexact = [&](const std::string& line) { said.push_back(line); };
  {
    const FullDevice full(fits + (too_much - fits) / 8);
    const FitPlan plan = plan_fit(fit_of(R"("batch": 256)"), settings);
    const FitMember member{.options = plan.options, .context = context};
    CHECK(run_fits(plan, {&member, 1}, false).front()["status"] == Value("done"));
  }
  REQUIRE(said.size() == 1);
  CHECK_THAT(said.front(), Catch::StartsWith("from step 1 on a batch goes through the model 64 samples at a time") &&
                               Catch::Contains("out of memory: a tensor of "));
  CHECK(last_weights(folder) == last_weights(temporary.path() / "parts"));
}

TEST_CASE("a loss or a gradient pass in which the device goes away says so, and is not called wrong") {
  const TemporaryFolder temporary;
  const auto lose = [] {
    const LostDevice device(0);
    at::empty({2}, at::TensorOptions(at::kFloat).device(parse_device("stand_in")));
  };
  const auto kind_of = [&](const std::string& json, std::vector<std::shared_ptr<Callable>> functions,
                           std::vector<std::shared_ptr<GradientPass>> passes) {
    const RunSettings settings = on("stand_in");
    const Options fit = parse_options(json, std::move(functions));
    const FitMember member{.options = fit, .context = quiet_context(temporary.path(), settings)};
    try {
      run_fits(plan_fit(fit, settings), {&member, 1}, false, {.passes = std::move(passes)});
    } catch (const Error& error) {
      CHECK_THAT(error.message(), Catch::StartsWith("the device has failed"));
      return error.kind();
    }
    FAIL("the fit went on");
    return ErrorKind::usage;
  };
  std::string own_loss = digits_fit(R"(, "steps": 2)");
  own_loss.replace(own_loss.find(R"("cross_entropy")"), 15, R"({"@": "function", "index": 0})");
  const auto loss = native([&](std::span<const Argument>) -> std::vector<Argument> {
    lose();
    return {};
  });
  CHECK(kind_of(own_loss, {loss}, {}) == ErrorKind::run);

  class Pass final : public GradientPass {
   public:
    explicit Pass(std::function<void()> act) : act_(std::move(act)) {}
    std::string_view name() const override { return "test"; }
    Verdict apply(std::span<at::Tensor>, const StepFacts&) override {
      act_();
      return {};
    }

   private:
    std::function<void()> act_;
  };
  CHECK(kind_of(digits_fit(R"(, "steps": 2)"), {}, {std::make_shared<Pass>(lose)}) == ErrorKind::run);
}

}  // namespace trainlab::devices_test
