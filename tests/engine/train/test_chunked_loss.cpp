// The last layer and the loss a few rows at a time: the numbers of the plain loss, without the scores of all rows.
#include <catch2/catch.hpp>

#include "support/fit_support.h"
#include "support/stand_in_device.h"
#include "tensor/safetensors.h"
#include "train/fit_plan.h"
#include "train/memory_prediction.h"

namespace trainlab::chunked_loss_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

// Five hidden features and ten classes: the rows are taken in two parts.
std::string fit_of(const std::string& loss, const std::string& more, const std::string& last = "",
                   const std::string& head = "") {
  return R"({"@": "fit", "name": "test", "data": {"@": "data:split", "source": {"@": "data.digits"}, "train": 0.9,
    "val": 0.1, "seed": 7},
    "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 5},
      {"@": "nn.Tanh"}, {"@": "nn.Shared", "name": "head", "layer": {"@": "nn.Linear", "out_features": 10)" +
         head + "}}" + last + R"(]}, "precision": "float64", "batch": 48, "steps": 40, "validate": "40 steps",
    "optim": {"@": "optim.SGD", "lr": 0.1, "momentum": 0.9}, "loss": )" +
         loss + more + "}";
}

struct Ending {
  NamedTensors weights;
  double loss;
};

Ending trained(const std::string& fit) {
  const TemporaryFolder folder;
  const Value summary = run_one(parse_options(fit), folder.path());
  for (const auto& entry : fs::directory_iterator(folder.path() / "checkpoints")) {
    const std::string name = entry.path().filename();
    if (name.starts_with("last-") && name.ends_with(".safetensors"))
      return {load_safetensors(entry.path()).tensors, summary["metrics"]["train.loss"].number()};
  }
  return {};
}

constexpr const char* chunked = R"("chunk_loss": true)";

}  // namespace

TEST_CASE("a loss in chunks trains as the plain loss does") {
  const std::string loss = GENERATE(
      R"("cross_entropy")", R"({"@": "loss.cross_entropy", "label_smoothing": 0.1})",
      R"({"@": "loss.cross_entropy", "ignore_index": 3, "class_weights": [1, 5, 0.1, 1, 2, 1, 9, 1, 0.5, 1]})");
  const std::string more = GENERATE("", R"(, "accumulate": 3)", R"(, "freeze": ["shared.head.weight"])");
  const std::string head = GENERATE("", R"(, "bias": false)");
  INFO(loss << more << head);
  const Ending plain = trained(fit_of(loss, more, "", head));
  REQUIRE_FALSE(plain.weights.empty());
  for (const std::string with : {"", R"(, "recompute": "every 1")", R"(, "fuse_step": true)"}) {
    if (!more.empty() && more.find("accumulate") != std::string::npos && with.find("fuse") != std::string::npos)
      continue;
    INFO(with);
    const Ending less = trained(fit_of(loss, more + R"(, "memory": {)" + chunked + with + "}", "", head));
    CHECK(less.loss == Approx(plain.loss).epsilon(1e-12));
    REQUIRE(less.weights.size() == plain.weights.size());
    for (const auto& [name, tensor] : plain.weights) {
      INFO(name);
      CHECK(tensor.sub(less.weights.at(name)).abs().max().item<double>() < 1e-11);
    }
  }
}

TEST_CASE("the last layer multiplies in the type of the fit, in chunks too") {
  const auto after_a_step = [](const std::string& precision, const std::string& more) {
    std::string fit = fit_of(R"("cross_entropy")", more);
    fit.replace(fit.find(R"("float64")"), 9, precision);
    fit.replace(fit.find(R"("steps": 40, "validate": "40 steps")"), 35, R"("steps": 1)");
    return trained(fit);
  };
  const auto distance = [](const Ending& a, const Ending& b) {
    const at::Tensor difference =
        a.weights.at("model.shared.head.weight").sub(b.weights.at("model.shared.head.weight"));
    return difference.abs().max().item<double>();
  };
  const Ending full = after_a_step(R"("float32")", ""),
               start = after_a_step(R"("float32")", R"(, "freeze": ["shared.head.weight"])");
  const double step = distance(full, start);
  for (const std::string type : {R"("bfloat16")", R"("float16")"}) {
    INFO(type);
    const Ending plain = after_a_step(type, "");
    const Ending less = after_a_step(type, R"(, "memory": {"chunk_loss": true})");
    CHECK(less.loss == Approx(plain.loss).epsilon(1e-6));
    CHECK(std::abs(less.loss - full.loss) > 1e-6);
    CHECK(distance(less, plain) < step / 64);
    const Ending kept =
        after_a_step(R"({"compute": )" + type + R"(, "keep": ["Linear"]})", R"(, "memory": {"chunk_loss": true})");
    CHECK(kept.loss == Approx(full.loss).epsilon(1e-6));
  }
}

TEST_CASE("the scores of a large vocabulary are never held") {
  const auto peak = [](const std::string& more) {
    const Options fit = parse_options(R"({"@": "fit", "name": "test",
      "data": {"@": "data.blobs", "classes": 4096, "samples": 8192, "features": 8},
      "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Linear", "out_features": 16},
        {"@": "nn.Linear", "out_features": 4096}]},
      "loss": "cross_entropy", "optim": {"@": "optim.SGD", "lr": 0.1}, "batch": 1024, "steps": 1)" +
                                      more + "}");
    return predict_memory(plan_fit(fit, test_settings())).memory.ledger;
  };
  const MemoryLedger plain = peak(""), less = peak(R"(, "memory": {"chunk_loss": true})");
  constexpr std::int64_t scores = 1024 * 4096 * 4;
  const auto pass = [](const MemoryLedger& ledger) {
    return ledger.of(MemoryKind::activations) + ledger.of(MemoryKind::temporaries);
  };
  CHECK(pass(plain) >= 2 * scores);
  CHECK(pass(less) < scores / 2);
}

TEST_CASE("what cannot be computed in chunks is refused with one message") {
  const auto message = [](const std::string& loss, const std::string& more, const std::string& last = "") {
    return error_of([&] { plan_fit(parse_options(fit_of(loss, more, last)), test_settings()); });
  };
  const std::string memory = R"(, "memory": {"chunk_loss": true)";
  CHECK_THAT(
      message(R"("cross_entropy")", memory + "}", R"(, {"@": "nn.Identity"})"),
      Catch::Contains("fit.memory.chunk_loss: computes the cross-entropy of labels with the nn.Linear before it, "
                      "and the model ends with fit.model[5].Identity"));
  CHECK_THAT(message(R"("focal")", memory + "}"), Catch::Contains("and the loss is another one"));
  CHECK_THAT(
      message(R"("cross_entropy")", memory + R"(, "recompute": "3-4"})"),
      Catch::Contains("fit.memory.chunk_loss: computes the cross-entropy of labels with the nn.Linear before it, "
                      "and memory.recompute names this layer"));
}

}  // namespace trainlab::chunked_loss_test
