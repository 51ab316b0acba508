// The option memory.recompute in whole fits: the same bytes, less memory, one message for what cannot be.
#include <catch2/catch.hpp>

#include <ATen/ops/equal.h>

#include "core/files.h"
#include "support/fit_support.h"
#include "support/stand_in_device.h"
#include "tensor/dry_run.h"
#include "tensor/memory.h"
#include "tensor/memory_events.h"
#include "train/fit_plan.h"
#include "train/group.h"
#include "train/memory_prediction.h"

namespace trainlab::recompute_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

const std::string split =
    R"({"@": "data:split", "source": {"@": "data.digits"}, "train": 0.8, "val": 0.1, "test": 0.1, "seed": 7})";

std::string deep(const std::string& more, const std::string& optim = R"({"@": "optim.AdamW", "lr": 0.005})") {
  return R"({"@": "fit", "name": "test", "data": )" + split + R"(,
    "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"},
      {"@": "nn.Repeat", "times": 3, "layer": {"@": "nn.Sequential", "layers": [{"@": "nn.Linear", "out_features": 16},
        {"@": "nn.BatchNorm1d"}, {"@": "nn.GELU"}, {"@": "nn.Dropout", "p": 0.2}]}},
      {"@": "nn.SpectralNorm", "layer": {"@": "nn.Linear", "out_features": 16}},
      {"@": "nn.Residual", "body": [{"@": "nn.Linear", "out_features": 16}, {"@": "nn.ReLU"}]},
      {"@": "nn.Linear", "out_features": 10}]},
    "loss": "cross_entropy", "metrics": ["accuracy"], "optim": )" +
         optim + R"(, "batch": 64, "epochs": 2)" + more + "}";
}

std::string hash_of_last(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder / "checkpoints")) {
    const std::string name = entry.path().filename();
    if (name.starts_with("last-") && name.ends_with(".safetensors")) return hash_file(entry.path());
  }
  return "";
}

struct Ending {
  std::string weights, rows;
};

Ending trained(const std::string& fit) {
  const TemporaryFolder folder;
  run_one(parse_options(fit), folder.path());
  return {hash_of_last(folder.path()), rows_without_seconds(folder.path())};
}

std::string recompute(const std::string& value) { return R"(, "memory": {"recompute": )" + value + "}"; }

std::string message(const std::string& more) {
  const std::shared_ptr<Callable> step = native([](std::span<const Argument>) { return std::vector<Argument>(); });
  return error_of([&] { plan_fit(parse_options(deep(more), {step}), test_settings()); });
}

}  // namespace

TEST_CASE("a fit whose activations are computed again ends in the same bytes") {
  const std::string sam = R"({"@": "optim.SAM", "base": {"@": "optim.SGD", "lr": 0.05, "momentum": 0.9}})";
  const auto [more, optim] = GENERATE_COPY(table<std::string, std::string>({
      {"", R"({"@": "optim.AdamW", "lr": 0.005})"},
      {R"(, "accumulate": 3, "clip": 0.5)", R"({"@": "optim.AdamW", "lr": 0.005})"},
      {R"(, "ema": {"@": "ema", "decay": 0.9})", sam},
  }));
  const Ending plain = trained(deep(more, optim));
  REQUIRE_FALSE(plain.weights.empty());
  for (const char* value :
       {R"("every 1")", R"("every 4")", R"(["2.*", "3"])", R"(["1-2.2.3", "4.1", "5"])", R"("4.*")"}) {
    INFO(value << more);
    const Ending again = trained(deep(more + recompute(value), optim));
    CHECK(again.weights == plain.weights);
    CHECK(again.rows == plain.rows);
  }
}

TEST_CASE("members side by side whose activations are computed again have the same bytes") {
  const std::string stackable = R"({"@": "fit", "name": "test", "data": )" + split + R"(,
    "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 16},
      {"@": "nn.BatchNorm1d"}, {"@": "nn.GELU"}, {"@": "nn.Dropout", "p": 0.2},
      {"@": "nn.Linear", "out_features": 10}]},
    "loss": "cross_entropy", "optim": {"@": "optim.SGD", "lr": 0.1}, "batch": 32, "steps": 3)";
  const auto weights = [&](const std::string& more) {
    const Options fit = parse_options(stackable + more + "}");
    const FitPlan plan = plan_fit(fit, test_settings());
    const std::vector<Key> keys = {Key(1), Key(2), Key(3)};
    const std::vector<Options> optimizers(keys.size(), fit.child("optim"));
    Group group(plan, keys, optimizers, true);
    Loader loader(plan.data.train, plan.loader, keys, true);
    const std::vector<double> rates(keys.size(), 0.1);
    const std::vector<std::uint8_t> active = {1, 0, 1};
    for (std::int64_t step = 0; step < 3; ++step) {
      const std::vector<Batch> batches = {next_batch(plan, loader)};
      group.step(batches, step, {.rates = rates, .active = active});
    }
    std::vector<at::Tensor> all = group.state().parameters;
    all.insert(all.end(), group.state().buffers.begin(), group.state().buffers.end());
    return all;
  };
  const std::vector<at::Tensor> plain = weights("");
  for (const char* value : {R"("every 2")", R"(["2-4"])"}) {
    const std::vector<at::Tensor> again = weights(recompute(value));
    REQUIRE(again.size() == plain.size());
    for (std::size_t i = 0; i < plain.size(); ++i) CHECK(at::equal(again[i], plain[i]));
  }
}

TEST_CASE("half and more of the activations of a deep net need not be held") {
  const std::string block =
      R"({"@": "nn.Sequential", "layers": [{"@": "nn.Linear", "out_features": 64}, {"@": "nn.GELU"}]})";
  const auto held = [&](const std::string& more) {
    const Options fit = parse_options(R"({"@": "fit", "name": "test", "data": )" + split + R"(,
      "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"}, {"@": "nn.Repeat", "times": 64, "layer": )" +
                                      block + R"(}, {"@": "nn.Linear", "out_features": 10}]},
      "loss": "cross_entropy", "optim": {"@": "optim.SGD", "lr": 0.1}, "batch": 512, "steps": 1)" +
                                      more + "}");
    const MemoryPrediction prediction = predict_memory(plan_fit(fit, test_settings()));
    REQUIRE(prediction.estimated_because == "");
    const MemoryLedger& ledger = prediction.memory.ledger;
    // The tensors that a second pass makes are there for a part of the backward pass only.
    return static_cast<double>(ledger.of(MemoryKind::activations) + ledger.of(MemoryKind::temporaries));
  };
  const double plain = held(""), every = held(recompute(R"("every 16")"));
  CHECK(every < 0.4 * plain);
}

TEST_CASE("\"auto\" chooses what fits into the budget, says its price, and changes no byte") {
  const auto fit = [](const std::string& more) {
    return R"({"@": "fit", "name": "test", "data": )" + split + R"(,
      "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"}, {"@": "nn.Repeat", "times": 12, "layer":
        {"@": "nn.Sequential", "layers": [{"@": "nn.Linear", "out_features": 32}, {"@": "nn.GELU"},
          {"@": "nn.Dropout", "p": 0.1}]}}, {"@": "nn.Linear", "out_features": 10}]},
      "loss": "cross_entropy", "optim": {"@": "optim.SGD", "lr": 0.1}, "batch": 512, "epochs": 1)" +
           more + "}";
  };
  const auto planned = [&](const std::string& more) { return plan_fit(parse_options(fit(more)), test_settings()); };
  if (test_settings().device != "cpu") {
    CHECK_THAT(
        error_of([&] { planned(R"(, "memory": {"recompute": "auto"})"); }),
        Catch::Contains("fit.memory.recompute: \"auto\" knows what a step takes on the CPU alone, found the device "));
    return;
  }
  const std::int64_t plain = predict_memory(planned("")).memory.training();
  const std::int64_t every = predict_memory(planned(recompute(R"("every 6")"))).memory.training();
  REQUIRE(every < plain);
  const auto automatic = [](std::int64_t budget) {
    return R"(, "memory": {"recompute": "auto", "budget": ")" + std::to_string(budget) + " B\"}";
  };
  const FitPlan plan = planned(automatic(every));
  CHECK_FALSE(plan.recompute.empty());
  CHECK(predict_memory(plan).memory.training() <= every);
  REQUIRE(plan.notes.size() == 1);
  CHECK_THAT(plan.notes.front(), Catch::Contains("again beside a forward pass of"));
  const FitPlan enough = planned(automatic(2 * plain));
  CHECK(enough.recompute.empty());
  CHECK_THAT(enough.notes.front(), Catch::Contains("nothing is computed again"));
  CHECK_THAT(error_of([&] { planned(automatic(every / 4)); }),
             Catch::Contains("fit.memory.budget: the training needs ") && Catch::Contains("found a budget of"));
  CHECK(trained(fit(automatic(every))).weights == trained(fit("")).weights);
}

TEST_CASE("\"cheap\" keeps one of an activation and its input, computes no product again, and changes no byte") {
  CHECK(trained(deep(recompute(R"("cheap")"))).weights == trained(deep("")).weights);
  const auto fit = [](const std::string& more) {
    return parse_options(R"({"@": "fit", "name": "test", "data": {"@": "data.digits"}, "loss": "cross_entropy",
      "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"}, {"@": "nn.Repeat", "times": 6, "layer":
        {"@": "nn.Sequential", "layers": [{"@": "nn.Linear", "out_features": 77}, {"@": "nn.GELU"},
          {"@": "nn.Tanh"}]}}, {"@": "nn.Linear", "out_features": 10}]},
      "optim": {"@": "optim.SGD", "lr": 0.1}, "batch": 512, "steps": 1)" +
                         more + "}");
  };
  const FitPlan plain = plan_fit(fit(""), cpu_settings()),
                cheap = plan_fit(fit(recompute(R"("cheap")")), cpu_settings());
  REQUIRE(cheap.recompute.segments.size() == 6);
  CHECK(flops_again(*cheap.model, cheap.recompute) == 0);
  const auto activations = [](const FitPlan& plan) {
    return static_cast<double>(predict_memory(plan).memory.ledger.of(MemoryKind::activations));
  };
  CHECK(activations(cheap) < 0.6 * activations(plain));
  // A product makes a block of the size of its output; so does an activation.
  struct Blocks final : MemoryListener {
    void allocated(const void*, std::int64_t bytes, MemoryUse) noexcept override { made += bytes == size; }
    void freed(const void*, std::int64_t, MemoryUse) noexcept override {}
    std::int64_t size = block_bytes(512 * 77 * 4);
    int made = 0;
  };
  count_tensor_memory();
  const auto blocks = [](const FitPlan& plan) {
    const Key key(1);
    const Options optimizer = plan.options.child("optim");
    Group group(plan, {&key, 1}, {&optimizer, 1}, false);
    const std::vector<double> rates{0.1};
    Loader loader(plan.data.train, plan.loader, {key}, false);
    const Batch batch = loader.next();
    Blocks heard;
    const MemoryListening listening(heard);
    group.step({&batch, 1}, 0, {.rates = rates});
    return heard.made;
  };
  CHECK(blocks(cheap) == blocks(plain) + 6 * 2);
}

TEST_CASE("what cannot be computed again is refused with one message") {
  CHECK_THAT(
      message(recompute(R"("every two")")),
      Catch::Contains("fit.memory.recompute: expected \"every N\" with a number of layers, found \"every two\""));
  CHECK_THAT(message(recompute(R"("every 16")")),
             Catch::Contains("expected segments of fewer layers than the model's chain of 16, found \"every 16\""));
  CHECK_THAT(
      error_of([] {
        plan_fit(parse_options(R"({"@": "fit", "name": "test", "data": {"@": "data.digits"},
                 "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"},
                   {"@": "nn.Linear", "out_features": 10}]},
                 "loss": "cross_entropy", "optim": {"@": "optim.SGD", "lr": 0.1}, "steps": 1)" +
                               recompute(R"("cheap")") + "}"),
                 test_settings());
      }),
      Catch::Contains("fit.memory.recompute: \"cheap\" found no norm, activation or dropout before an nn.Linear"));
  CHECK_THAT(message(recompute(R"("blocks.*")")),
             Catch::Contains("fit.memory.recompute: no layer matches \"blocks.*\""));
  CHECK_THAT(message(R"(, "memory": {"recompute": "auto", "budget": "2 MBit"})"),
             Catch::Contains("fit.memory.budget: expected bytes, or a percentage of what is free, found \"2 MBit\""));
  CHECK_THAT(message(R"(, "memory": {"recompute": "auto", "budget": "2 MB", "allow": "any"})"),
             Catch::Contains("fit.memory.allow: a budget chooses among all options where neither memory.recompute nor "
                             "batch is \"auto\""));
  CHECK_THAT(message(recompute(R"("every 2")") + R"(, "step": {"@": "function", "index": 0})"),
             Catch::Contains("fit.memory: a fit with a step of its own has no such option"));
}

}  // namespace trainlab::recompute_test
