// Fits with weights in bfloat16: near float32, resumed to the same bytes, with the options of memory, in their bytes.
#include <ATen/TensorOperators.h>

#include <catch2/catch.hpp>

#include "core/files.h"
#include "support/fit_support.h"
#include "support/last_checkpoint.h"
#include "tensor/safetensors.h"
#include "train/memory_prediction.h"

namespace trainlab::bfloat16_weights_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

std::string with_rounding(const std::string& rounding) {
  return R"(, "precision": {"compute": "bfloat16", "weights": "bfloat16", "rounding": ")" + rounding + "\"}";
}

}  // namespace

TEST_CASE("a fit with weights in bfloat16 comes out near float32") {
  const TemporaryFolder temporary;
  const Value whole = run_one(parse_options(digits_fit(R"(, "epochs": 4, "ema": {"@": "ema"})")),
                              temporary.path() / "whole", false, cpu_settings());
  for (const std::string rounding : {"stochastic", "compensated"}) {
    INFO(rounding);
    const fs::path folder = temporary.path() / rounding;
    const Value few =
        run_one(parse_options(digits_fit(R"(, "epochs": 4, "ema": {"@": "ema"})" + with_rounding(rounding))), folder,
                false, cpu_settings());
    for (const char* metric : {"train.loss", "val.loss", "test.loss"})
      CHECK(few["metrics"][metric].number() == Approx(whole["metrics"][metric].number()).epsilon(0.05));
    CHECK(few["precision"]["weights"] == Value("bfloat16"));
    for (const auto& [name, tensor] : last_checkpoint(folder)) {
      INFO(name);
      const bool is_matrix = tensor.dim() > 1;
      if (name.starts_with("model.")) CHECK(tensor.scalar_type() == (is_matrix ? at::kBFloat16 : at::kFloat));
      if (name.starts_with("ema.") && tensor.is_floating_point() && is_matrix)
        CHECK(tensor.scalar_type() == at::kFloat);
      if (name.ends_with(".rest")) CHECK((tensor.scalar_type() == at::kBFloat16 && rounding == "compensated"));
    }
  }
}

TEST_CASE("an interrupted fit with weights in bfloat16 continues to the same bytes") {
  const TemporaryFolder temporary;
  for (const std::string rounding : {"stochastic", "compensated"}) {
    const std::string fit =
        digits_fit(R"(, "epochs": 2, "accumulate": 2, "clip": 0.5, "ema": {"@": "ema"})" + with_rounding(rounding));
    const fs::path whole = temporary.path() / rounding / "whole", folder = temporary.path() / rounding / "stopped";
    const Value uninterrupted = run_one(parse_options(fit), whole, false, cpu_settings());
    {
      const ClearStop clear;
      std::string interrupted = fit;
      interrupted.insert(interrupted.size() - 1, R"(, "on": {"step": {"@": "function", "index": 0}})");
      CHECK(run_one(parse_options(interrupted, {stop_at(7)}), folder, false, cpu_settings())["status"] ==
            Value("interrupted"));
    }
    const Value rest = run_one(parse_options(fit), folder, true, cpu_settings());
    CHECK(same_tensors(last_checkpoint(folder), last_checkpoint(whole)));
    CHECK(rest["metrics"] == uninterrupted["metrics"]);
  }
}

TEST_CASE("weights in bfloat16 go with the options of memory to the same bytes, and with stacks") {
  const auto weights_after = [](const std::string& fit) {
    const TemporaryFolder folder;
    run_one(parse_options(fit), folder.path(), false, cpu_settings());
    return last_checkpoint(folder.path());
  };
  for (const std::string rounding : {"stochastic", "compensated"}) {
    const std::string fit = R"(, "epochs": 1)" + with_rounding(rounding);
    const NamedTensors plain = weights_after(digits_fit(fit));
    for (const char* memory :
         {R"({"fuse_step": true})", R"({"recompute": "every 2"})", R"({"offload": "activations"})"})
      CHECK(same_tensors(weights_after(digits_fit(fit + R"(, "memory": )" + memory)), plain));
  }
}

TEST_CASE("a group with weights in bfloat16 stays near its members alone") {
  const TemporaryFolder temporary;
  const RunSettings settings = cpu_settings();
  prepare_arithmetic(1);
  std::vector<FitMember> members;
  std::vector<Options> fits;
  for (int m = 0; m < 3; ++m) {
    fits.push_back(
        parse_options(digits_fit(R"(, "steps": 30, "seed": )" + std::to_string(m + 1) + with_rounding("stochastic"))));
    const fs::path folder = temporary.path() / ("member" + std::to_string(m));
    make_directories(folder);
    members.push_back({.options = fits.back(), .context = quiet_context(folder, settings)});
  }
  const std::vector<Value> together = run_fits(plan_fit(members.front().options, settings), members, true);
  for (std::size_t m = 0; m < fits.size(); ++m) {
    const Value alone = run_one(fits[m], temporary.path() / ("alone" + std::to_string(m)), false, settings);
    CHECK(together[m]["metrics"]["val.loss"].number() == Approx(alone["metrics"]["val.loss"].number()).epsilon(0.03));
  }
}

TEST_CASE("micro-batches of weights in bfloat16 add up in float32") {
  const auto gradient_of = [](std::int64_t accumulate, std::int64_t batch) {
    const TemporaryFolder folder;
    const std::string sizes = R"("batch": )" + std::to_string(batch);
    std::string json =
        digits_fit(R"(, "steps": 1, "accumulate": )" + std::to_string(accumulate) + with_rounding("compensated"));
    json.replace(json.find(R"("batch": 64)"), 11, sizes);
    json.replace(json.find(R"("p": 0.1)"), 8, R"("p": 0.0)");
    const std::string optimizer = R"("optim": {"@": "optim.SGD", "lr": 1.0})";
    const std::size_t begin = json.find(R"("optim")"), end = json.find('}', begin) + 1;
    json.replace(begin, end - begin, optimizer);
    run_one(parse_options(json), folder.path(), false, cpu_settings());
    const NamedTensors tensors = last_checkpoint(folder.path());
    return tensors.at("model.2.weight").to(at::kDouble).add(tensors.at("optim.2.weight.rest"));
  };
  const at::Tensor whole = gradient_of(1, 512), parts = gradient_of(64, 8);
  // Two roundings to 8 digits of each gradient, no more for 64 parts than for one.
  CHECK(whole.sub(parts).abs().max().item<double>() < 1e-3);
}

TEST_CASE("the predicted memory knows weights in bfloat16") {
  // Blocks are multiples of half a MiB, which weights of 724 × 724 nearly fill.
  const auto ledger = [](const std::string& more) {
    const Options fit = parse_options(R"({"@": "fit", "name": "test", "loss": "cross_entropy", "batch": 8, "steps": 2,
      "data": {"@": "data.blobs", "classes": 10, "features": 724}, "optim": {"@": "optim.AdamW"},
      "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Repeat", "times": 4, "layer":
        {"@": "nn.Linear", "out_features": 724}}, {"@": "nn.Linear", "out_features": 10}]})" +
                                      more + "}");
    return predict_memory(plan_fit(fit, cpu_settings())).memory.ledger;
  };
  const double values = 4 * 724 * 724 + 10 * 724, weights = 0.02;
  const MemoryLedger plain = ledger(""), random = ledger(with_rounding("stochastic")),
                     rest = ledger(with_rounding("compensated"));
  const auto each = [&](const MemoryLedger& of, MemoryKind kind) { return static_cast<double>(of.of(kind)) / values; };
  CHECK(each(plain, MemoryKind::weights) == Approx(4).epsilon(weights));
  CHECK(each(random, MemoryKind::weights) == Approx(2).epsilon(weights));
  CHECK(each(rest, MemoryKind::optimizer) - each(random, MemoryKind::optimizer) == Approx(2).epsilon(weights));
  CHECK(each(plain, MemoryKind::gradients) == Approx(4).epsilon(weights));
  CHECK(each(random, MemoryKind::gradients) == Approx(2).epsilon(weights));
}

TEST_CASE("what weights in bfloat16 do not go with is refused by name") {
  const auto refused = [](const std::string& optimizer, const std::string& more) {
    std::string json = digits_fit(R"(, "steps": 2)" + more + with_rounding("stochastic"));
    const std::size_t begin = json.find("optim.AdamW");
    json.replace(begin, std::string("optim.AdamW").size(), optimizer);
    return error_of([&] { plan_fit(parse_options(json), cpu_settings()); });
  };
  CHECK(refused("optim.Lion", "") == "");
  for (const char* other : {"optim.Muon", "optim.Prodigy", "optim.NAdam"})
    CHECK_THAT(refused(other, ""), Catch::Contains("fit.optim: weights in bfloat16 are for optim.Adam, optim.AdamW, "
                                                   "optim.Lion or optim.SGD, found " +
                                                   std::string(other)));
}

}  // namespace trainlab::bfloat16_weights_test
