// The optimizer's step within the backward pass: the same bytes, no gradients held, one message where it cannot be.
#include <catch2/catch.hpp>

#include "core/files.h"
#include "support/fit_support.h"
#include "train/fit_plan.h"
#include "train/memory_prediction.h"

namespace trainlab::fused_step_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

const std::string adamw = R"({"@": "optim.AdamW", "lr": 0.005})";

// A weight that is used twice, and one that is frozen.
std::string fit_of(const std::string& more, const std::string& optim) {
  return R"({"@": "fit", "name": "test", "data": {"@": "data:split", "source": {"@": "data.digits"}, "train": 0.9,
    "val": 0.1, "seed": 7},
    "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 16},
      {"@": "nn.Shared", "name": "w", "layer": {"@": "nn.Linear", "out_features": 16}}, {"@": "nn.Tanh"},
      {"@": "nn.Shared", "name": "w", "layer": {"@": "nn.Linear", "out_features": 16}}, {"@": "nn.BatchNorm1d"},
      {"@": "nn.Linear", "out_features": 10}]},
    "loss": "cross_entropy", "freeze": ["2.bias"], "epochs": 2, "optim": )" +
         optim + more + "}";
}

std::string weights_after(const std::string& fit) {
  const TemporaryFolder folder;
  run_one(parse_options(fit), folder.path());
  for (const auto& entry : fs::directory_iterator(folder.path() / "checkpoints")) {
    const std::string name = entry.path().filename();
    if (name.starts_with("last-") && name.ends_with(".safetensors")) return hash_file(entry.path());
  }
  return "";
}

constexpr const char* fused = R"(, "memory": {"fuse_step": true})";

}  // namespace

TEST_CASE("a step within the backward pass ends in the same bytes") {
  const auto [optim, more] = GENERATE_COPY(table<std::string, std::string>({
      {adamw, ""},
      {adamw, R"(, "clip": {"value": 0.001}, "ema": {"@": "ema", "decay": 0.9})"},
      {R"({"@": "optim.SGD", "lr": 0.1, "momentum": 0.9})", R"(, "schedule": {"@": "sched.cosine"})"},
      {R"({"@": "optim.LAMB", "lr": 0.01})", ""},
      {R"({"@": "optim.Adadelta"})", ""},
  }));
  INFO(optim << more);
  const std::string plain = weights_after(fit_of(more, optim));
  REQUIRE_FALSE(plain.empty());
  CHECK(weights_after(fit_of(more + fused, optim)) == plain);
  const std::string both = R"(, "memory": {"fuse_step": true, "recompute": "every 2"})";
  CHECK(weights_after(fit_of(more + both, optim)) == plain);
}

TEST_CASE("gradients are freed within the backward pass") {
  const auto ledger = [](const std::string& more) {
    const Options fit = parse_options(R"({"@": "fit", "name": "test", "data": {"@": "data.digits"},
      "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"},
        {"@": "nn.Repeat", "times": 12, "layer": {"@": "nn.Linear", "out_features": 256}},
        {"@": "nn.Linear", "out_features": 10}]},
      "loss": "cross_entropy", "optim": {"@": "optim.SGD", "lr": 0.1}, "batch": 8, "steps": 1)" +
                                      more + "}");
    return predict_memory(plan_fit(fit, test_settings())).memory.ledger;
  };
  const MemoryLedger plain = ledger(""), less = ledger(fused);
  CHECK(plain.of(MemoryKind::gradients) >= 11 * 256 * 256 * 4);
  CHECK(less.of(MemoryKind::gradients) == 0);
  CHECK(plain.peak - less.peak >= 9 * 256 * 256 * 4);
}

TEST_CASE("a step that needs all gradients is refused with one message") {
  const auto message = [](const std::string& more, const std::string& optim = adamw) {
    return error_of([&] { plan_fit(parse_options(fit_of(more + fused, optim)), test_settings()); });
  };
  CHECK_THAT(message(R"(, "stop": {"@": "stop.evidence"})"),
             Catch::Contains("fit.memory.fuse_step: steps each parameter when its own gradient is there, and a rule in "
                             "`stop` reads all gradients of a step"));
  CHECK_THAT(message(R"(, "accumulate": 2)"), Catch::Contains("fit.memory.fuse_step: steps each parameter when its own "
                                                              "gradient is there, and accumulate = 2"));
  CHECK_THAT(message(R"(, "clip": 1)"), Catch::Contains("and `clip` by the norm needs all gradients"));
  const std::string sam = R"({"@": "optim.SAM", "base": {"@": "optim.SGD", "lr": 0.05}})";
  CHECK_THAT(message("", sam), Catch::Contains("and optim.SAM needs all gradients"));
  CHECK_THAT(message("", R"({"@": "optim.LBFGS"})"), Catch::Contains("and optim.LBFGS needs all gradients"));
}

}  // namespace trainlab::fused_step_test
