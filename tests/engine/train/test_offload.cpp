// The option memory.offload: the state of an optimizer in a file, with the bytes of a fit whose state is in memory.
#include <catch2/catch.hpp>

#include "core/files.h"
#include "support/fit_support.h"
#include "tensor/file_memory.h"
#include "tensor/memory.h"
#include "train/group.h"
#include "train/memory_prediction.h"

namespace trainlab::offload_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

const std::string adam = R"({"@": "optim.AdamW", "lr": 0.001})";
const std::string offload = R"(, "memory": {"offload": "optimizer"})";

// With AdamW a state of two parts.
std::string wide(const std::string& optimizer, const std::string& more) {
  return R"({"@": "fit", "name": "test", "data": {"@": "data.digits"}, "loss": "cross_entropy", "steps": 5, "batch": 8,
    "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"}, {"@": "nn.Repeat", "times": 6, "layer":
      {"@": "nn.Linear", "out_features": 512}}, {"@": "nn.Linear", "out_features": 10}]},
    "optim": )" +
         optimizer + more + "}";
}

std::string hash_of_last(const fs::path& folder) {
  std::string last;
  for (const auto& entry : fs::directory_iterator(folder / "checkpoints")) {
    const std::string name = entry.path().filename();
    if (name.starts_with("last-") && name.ends_with(".safetensors")) last = std::max(last, entry.path().string());
  }
  return hash_file(last);
}

std::string trained(const std::string& text) {
  const TemporaryFolder folder;
  run_one(parse_options(text), folder.path(), false, cpu_settings());
  return hash_of_last(folder.path());
}

FitPlan planned(const std::string& text) {
  count_tensor_memory();
  return plan_fit(parse_options(text), cpu_settings());
}

}  // namespace

TEST_CASE("a state in a file trains to the same bytes") {
  const std::string optimizer =
      GENERATE(as<std::string>{}, R"({"@": "optim.AdamW", "lr": 0.001})",
               R"({"@": "optim.AdamW", "lr": 0.001, "groups": [{"params": "*.bias", "lr": 0.01}]})",
               R"({"@": "optim.AdamW", "lr": 0.001, "state": "8bit"})",
               R"({"@": "optim.SGD", "lr": 0.01, "momentum": 0.9})", R"({"@": "optim.AdamWScheduleFree"})",
               R"({"@": "optim.Prodigy"})", R"({"@": "optim.Lookahead", "base": {"@": "optim.Lion", "lr": 0.001}})");
  INFO(optimizer);
  const std::string plain = trained(wide(optimizer, ""));
  CHECK(trained(wide(optimizer, offload)) == plain);
  CHECK(tensor_bytes_in_files() == 0);
}

TEST_CASE("a state in a file goes with a step within the backward pass") {
  const std::string both = R"(, "memory": {"offload": "optimizer", "fuse_step": true})";
  CHECK(trained(wide(adam, both)) == trained(wide(adam, "")));
}

TEST_CASE("a state in a file is no memory of tensors, predicted and measured") {
  const FitPlan plain = planned(wide(adam, "")), offloaded = planned(wide(adam, offload));
  const MemoryLedger with = predict_memory(offloaded).memory.ledger, without = predict_memory(plain).memory.ledger;
  CHECK(with.of(MemoryKind::optimizer) < without.of(MemoryKind::optimizer) / 10);
  CHECK(with.peak < without.peak);
  const Key key(1);
  const Options optimizer = plain.options.child("optim");
  {
    const std::int64_t before = live_tensor_bytes();
    const Group group(offloaded, {&key, 1}, {&optimizer, 1}, false);
    const std::int64_t weights = plain.parameter_count() * std::int64_t{sizeof(float)};
    CHECK(live_tensor_bytes() - before < 2 * weights);  // with the state more than three times
    CHECK(static_cast<double>(tensor_bytes_in_files()) == Approx(2.0 * static_cast<double>(weights)).epsilon(0.1));
  }
  CHECK(tensor_bytes_in_files() == 0);
  const std::optional<TrainingMemory> measured = measured_memory(offloaded);
  REQUIRE(measured);
  CHECK(static_cast<double>(measured->step()) == Approx(static_cast<double>(with.peak)).epsilon(0.05));
}

TEST_CASE("a fit whose state does not fit into the limit trains with it in a file, and goes on to the byte") {
  const TemporaryFolder temporary;
  // The least memory of all: no room is left for a second copy of weights or state.
  const std::string least = R"(, "memory": {"offload": "optimizer", "fuse_step": true})";
  const std::string text = wide(adam, least);
  const std::int64_t needed = predict_memory(planned(text)).memory.step();
  const std::int64_t whole = predict_memory(planned(wide(adam, R"(, "memory": {"fuse_step": true})"))).memory.step();
  REQUIRE(needed < whole);
  const auto stop = stop_at(3);
  run_one(parse_options(wide(adam, "")), temporary.path() / "plain", false, cpu_settings());
  const std::int64_t limit = needed + (whole - needed) / 4;
  set_tensor_memory_limit(limit);
  const auto run = [&](const std::string& more, bool resumed) {
    make_directories(temporary.path() / "file");
    const std::string fit = text.substr(0, text.size() - 1) + more + "}";
    return run_one(parse_options(fit, {stop}), temporary.path() / "file", resumed, cpu_settings());
  };
  const Value first = run(R"(, "on": {"step": {"@": "function", "index": 0}})", false);
  clear_stop_request();
  const Value second = run("", true);
  set_tensor_memory_limit(0);
  CHECK(first["status"] == Value("interrupted"));
  CHECK(second["status"] == Value("done"));
  CHECK(second["memory"]["chosen"] == Value(Value::List{"memory.fuse_step=true", "memory.offload=optimizer"}));
  CHECK(second["memory"]["offloaded"].number() > 10e6);
  CHECK(second["memory"]["peak"].integer() <= limit);
  CHECK(hash_of_last(temporary.path() / "file") == hash_of_last(temporary.path() / "plain"));
}

TEST_CASE("what has no state to keep in a file is refused") {
  CHECK_THAT(error_of([] { planned(wide(R"({"@": "optim.SGD", "lr": 0.1})", offload)); }),
             Catch::Contains("fit.memory.offload: keeps the optimizer's state in a file, and optim.SGD keeps none"));
  const std::string average = R"(, "ema": {"@": "ema", "decay": 0.9})";  // no state of the optimizer
  CHECK_THAT(error_of([&] { planned(wide(R"({"@": "optim.SGD", "lr": 0.1})", offload + average)); }),
             Catch::Contains("optim.SGD keeps none"));
  CHECK_THAT(error_of([] { planned(wide(adam, R"(, "memory": {"offload": "disk"})")); }),
             Catch::Contains("fit.memory.offload") && Catch::Contains("\"optimizer\""));
}

namespace {

// Layers whose operators keep inputs, outputs, views and the same tensor twice.
const char* const norms = R"({"@": "nn.Flatten"}, {"@": "nn.Repeat", "times": 4, "layer": {"@": "nn.Residual", "body":
  [{"@": "nn.Linear", "out_features": 64}, {"@": "nn.ReLU"}, {"@": "nn.LayerNorm"}, {"@": "nn.Dropout", "p": 0.1},
   {"@": "nn.GELU"}, {"@": "nn.Linear", "out_features": 64}]}}, {"@": "nn.BatchNorm1d"})";
const char* const convolutions = R"({"@": "nn.Conv2d", "out_channels": 8, "kernel_size": 3, "padding": 1},
  {"@": "nn.BatchNorm2d"}, {"@": "nn.SiLU"}, {"@": "nn.MaxPool2d", "kernel_size": 2}, {"@": "nn.Flatten"})";
const char* const attention = R"({"@": "nn.Reshape", "shape": [8, 8]}, {"@": "nn.Linear", "out_features": 32},
  {"@": "nn.TransformerEncoderLayer", "num_heads": 2}, {"@": "nn.Flatten"})";

std::string deep(const std::string& layers, const std::string& more) {
  return R"({"@": "fit", "name": "test", "data": {"@": "data.digits"}, "loss": "cross_entropy", "steps": 4,
    "batch": 512, "model": {"@": "nn.Sequential", "layers": [)" +
         layers + R"(, {"@": "nn.Linear", "out_features": 10}]}, "optim": )" + adam + more + "}";
}

std::string memory(const std::string& options) { return R"(, "memory": {)" + options + "}"; }

}  // namespace

TEST_CASE("activations in a file give the same bytes") {
  const std::string layers = GENERATE(as<std::string>{}, norms, convolutions, attention);
  INFO(layers);
  const std::string plain = trained(deep(layers, ""));
  CHECK(trained(deep(layers, memory(R"("offload": "activations")"))) == plain);
  CHECK(trained(deep(layers, memory(R"("offload": ["activations", "optimizer"], "fuse_step": true)"))) == plain);
  CHECK(trained(deep(layers, memory(R"("offload": "activations", "recompute": "every 2")"))) == plain);
  CHECK(tensor_bytes_in_files() == 0);
  const std::string parts = R"(, "accumulate": 2)";
  CHECK(trained(deep(layers, parts + memory(R"("offload": "activations")"))) == trained(deep(layers, parts)));
}

TEST_CASE("activations in a file are no memory of tensors, predicted and measured") {
  const FitPlan plain = planned(deep(norms, "")),
                offloaded = planned(deep(norms, memory(R"("offload": "activations")")));
  const MemoryLedger with = predict_memory(offloaded).memory.ledger, without = predict_memory(plain).memory.ledger;
  CHECK(with.of(MemoryKind::activations) < without.of(MemoryKind::activations) / 2);
  CHECK(with.peak < without.peak * 7 / 10);
  const std::optional<TrainingMemory> measured = measured_memory(offloaded);
  REQUIRE(measured);
  CHECK(static_cast<double>(measured->step()) == Approx(static_cast<double>(with.peak)).epsilon(0.02));
}

}  // namespace trainlab::offload_test
