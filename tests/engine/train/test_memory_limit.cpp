// Fits under a limit of memory: batches in parts, batch = "auto", what the summary tells, one message for what cannot
// be.
#include <ATen/ops/equal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>

#include "core/files.h"
#include "model/layer_listener.h"
#include "support/fit_support.h"
#include "tensor/memory.h"
#include "tensor/safetensors.h"
#include "tensor/tensor_object.h"
#include "train/fit_plan.h"
#include "train/memory_prediction.h"

namespace trainlab::memory_limit_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

const std::string linear = R"({"@": "nn.Linear", "out_features": 256})";

std::string fit_of(const std::string& block, const std::string& more) {
  return R"({"@": "fit", "name": "test", "data": {"@": "data.digits"},
    "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"}, {"@": "nn.Repeat", "times": 6, "layer":
      {"@": "nn.Sequential", "layers": [)" +
         block + R"(]}}, {"@": "nn.Linear", "out_features": 10}]},
    "optim": {"@": "optim.SGD", "lr": 0.1})" +
         more + "}";
}

// Layers whose values depend on how a batch is cut: random ones, and running statistics.
std::string uneven_fit(const std::string& more) {
  return fit_of(linear + R"(, {"@": "nn.BatchNorm1d"}, {"@": "nn.GELU"}, {"@": "nn.Dropout", "p": 0.1})",
                R"(, "loss": "cross_entropy", "epochs": 2)" + more);
}

// Samples that do not count alike, so that parts of a batch have other weights in its mean than their sizes.
std::string weighted_fit(const std::string& more) {
  const std::string loss = R"({"@": "loss.cross_entropy", "class_weights": [1, 5, 0.1, 1, 2, 1, 9, 1, 0.5, 1]})";
  return fit_of(linear + R"(, {"@": "nn.Tanh"})", R"(, "epochs": 2, "precision": "float64", "loss": )" + loss + more);
}

struct ProcessLimit {
  explicit ProcessLimit(std::int64_t bytes) { set_tensor_memory_limit(bytes); }
  ~ProcessLimit() { set_tensor_memory_limit(0); }
};

std::int64_t peak_at(const FitPlan& plan, std::int64_t micro_batch) {
  const MemoryPrediction step = predict_memory(plan, 1, [=](FitPlan& dry) { dry.micro_batch = micro_batch; });
  REQUIRE(step.estimated_because == "");
  return step.memory.step();
}

// A limit under which a step fits with this many samples at a time and not with twice as many.
std::int64_t limit_for(const FitPlan& plan, std::int64_t micro_batch) {
  return (peak_at(plan, micro_batch) + peak_at(plan, 2 * micro_batch)) / 2;
}

struct Ran {
  Value summary;
  std::vector<std::string> said;
};

Ran run(const FitPlan& plan, const fs::path& folder, bool resumed = false) {
  const RunSettings settings = test_settings();
  make_directories(folder);
  Ran ran;
  StageContext context = quiet_context(folder, settings, resumed);
  context.say_inexact = [&](const std::string& line) { ran.said.push_back(line); };
  const FitMember member{.options = plan.options, .context = context};
  ran.summary = run_fits(plan, {&member, 1}, false).front();
  return ran;
}

FitPlan planned(const std::string& text, std::vector<std::shared_ptr<Callable>> functions = {}) {
  count_tensor_memory();
  prepare_arithmetic(1);
  return plan_fit(parse_options(text, std::move(functions)), test_settings());
}

fs::path last_of(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder / "checkpoints")) {
    const std::string name = entry.path().filename();
    if (name.starts_with("last-") && name.ends_with(".safetensors")) found.push_back(entry.path());
  }
  return *std::ranges::max_element(found);
}

// The greatest difference between the last weights and states of two fits.
double greatest_difference(const fs::path& one, const fs::path& other) {
  const NamedTensors first = load_safetensors(last_of(one)).tensors, second = load_safetensors(last_of(other)).tensors;
  double greatest = 0;
  for (const auto& [name, tensor] : first)
    greatest = std::max(greatest, tensor.sub(second.at(name)).abs().max().item<double>());
  return greatest;
}

}  // namespace

TEST_CASE("a step that comes to the limit goes on in parts, and ends in the bytes of accumulated micro-batches") {
  const TemporaryFolder temporary;
  const FitPlan plan = planned(uneven_fit(R"(, "batch": 256)"));
  const std::int64_t limit = limit_for(plan, 64);
  Ran ran;
  {
    const ProcessLimit limited(limit);
    ran = run(plan, temporary.path() / "limited");
  }
  run(planned(uneven_fit(R"(, "batch": 64, "accumulate": 4)")), temporary.path() / "small");
  CHECK(hash_file(last_of(temporary.path() / "limited")) == hash_file(last_of(temporary.path() / "small")));
  REQUIRE(ran.said.size() == 1);
  CHECK_THAT(ran.said.front(),
             Catch::StartsWith("from step 1 on a batch goes through the model 64 samples at a time, with the gradients "
                               "of the whole batch and statistics of its parts: fit.model[") &&
                 Catch::Contains("out of memory: ") && Catch::Contains(" more would pass the limit of "));
  const Value& memory = ran.summary["memory"];
  CHECK(memory["budget"] == Value(limit));
  CHECK(memory["peak"].integer() <= limit);
  CHECK(memory["plain"].integer() > limit);
  CHECK(memory["chosen"] == Value(Value::List{"batch=64", "accumulate=4"}));
}

TEST_CASE("a step that comes to the limit within the loss goes on in parts") {
  const TemporaryFolder temporary;
  const std::string wide = R"({"@": "fit", "name": "test", "loss": "cross_entropy",
    "data": {"@": "data.blobs", "samples": 8192, "classes": 4096},
    "model": {"@": "nn.Linear", "out_features": 4096},
    "optim": {"@": "optim.SGD", "lr": 0.1}, "steps": 2, "batch": 256})";
  const FitPlan plan = planned(wide);
  // The scores of all samples fit, and the probabilities beside them do not.
  const ProcessLimit limited(limit_for(plan, 64));
  const Ran ran = run(plan, temporary.path());
  CHECK(ran.summary["status"] == Value("done"));
  REQUIRE(ran.said.size() == 1);
  CHECK_THAT(ran.said.front(),
             Catch::Contains("samples at a time, with the gradients of the whole batch: out of memory: "));
}

TEST_CASE("a step in parts has the gradients of the whole batch, also where samples do not count alike") {
  const std::string text = weighted_fit(R"(, "batch": 256)");
  const TemporaryFolder temporary;
  const FitPlan plan = planned(text);
  run(plan, temporary.path() / "whole");
  {
    const ProcessLimit limited(limit_for(plan, 32));
    REQUIRE(run(plan, temporary.path() / "parts").said.size() == 1);
  }
  const double worst = greatest_difference(temporary.path() / "whole", temporary.path() / "parts");
  CHECK(worst < 1e-12);
  CHECK(worst > 0);
}

TEST_CASE("a resumed fit keeps its parts without the limit") {
  const TemporaryFolder temporary;
  const std::string text = uneven_fit(R"(, "batch": 256)");
  const FitPlan plan = planned(text);
  const auto stop = stop_at(4);
  const FitPlan stopped =
      planned(text.substr(0, text.size() - 1) + R"(, "on": {"step": {"@": "function", "index": 0}}})", {stop});
  {
    const ProcessLimit limited(limit_for(plan, 64));
    run(plan, temporary.path() / "whole");
    const Value interrupted = run(stopped, temporary.path() / "part").summary;
    clear_stop_request();
    REQUIRE(interrupted["status"] == Value("interrupted"));
  }
  CHECK(run(plan, temporary.path() / "part", true).summary["memory"]["chosen"].list().size() == 2);
  CHECK(hash_file(last_of(temporary.path() / "part")) == hash_file(last_of(temporary.path() / "whole")));
}

TEST_CASE("a sample that does not fit ends the fit with the layer, the bytes and what would fit") {
  const TemporaryFolder temporary;
  const FitPlan plan = planned(uneven_fit(R"(, "batch": 256)"));
  const auto message = [&](const FitPlan& fit, std::int64_t bytes) {
    const ProcessLimit limited(bytes);
    return error_of([&] { run(fit, temporary.path() / "none"); });
  };
  CHECK_THAT(message(plan, live_tensor_bytes() + 1'000'000),
             Catch::Contains(": out of memory: expected at most the 1.0 MiB that are left of the limit of ") &&
                 Catch::Contains("(--memory), found 1.3 MiB for the weights of the model, of which this layer has"));
  CHECK_THAT(message(plan, live_tensor_bytes() + 2'000'000),
             Catch::Contains("for the training, a sample at a time; in a step weights") && Catch::Contains("hint: "));
  // The memory of a step with functions of the recipe is not known before the step. The second layer makes a megabyte
  // of a sample. No batch is made ahead, so that the first step finds the same memory taken on each machine.
  const auto squares = native([](std::span<const Argument> arguments) -> std::vector<Argument> {
    const auto out = std::get<std::shared_ptr<Object>>(arguments[0]);
    return {std::make_shared<TensorObject>(std::dynamic_pointer_cast<TensorObject>(out)->tensor.square().mean())};
  });
  const FitPlan unknown = planned(R"({"@": "fit", "name": "test", "data": {"@": "data.digits"},
    "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Conv2d", "out_channels": 1, "kernel_size": 1},
      {"@": "nn.Upsample", "scale_factor": 64}, {"@": "nn.AvgPool2d", "kernel_size": 64}, {"@": "nn.Flatten"}]},
    "loss": {"@": "function", "index": 0}, "optim": {"@": "optim.SGD", "lr": 0.1}, "batch": 256, "steps": 2,
    "loader": {"threads": 0}})",
                                  {squares});
  const Key key(1);
  const std::vector<std::int64_t> buffers = Loader(unknown.data.train, unknown.loader, {key}, false).buffer_bytes();
  const std::int64_t of_loader = std::accumulate(buffers.begin(), buffers.end(), std::int64_t{0});
  const std::string found = message(unknown, live_tensor_bytes() + 9 * of_loader / 8 + 900'000);
  CHECK_THAT(found, Catch::Contains("model[2].Upsample: out of memory: 1.0 MiB more would pass the limit of ") &&
                        Catch::Contains("(--memory), of which tensors hold ") && Catch::Contains("hint: "));
}

TEST_CASE("what no prediction knows of ends a fit with advice that counts it") {
  const TemporaryFolder temporary;
  const auto message = [&](const std::string& fit, std::int64_t missing) {
    const FitPlan plan = planned(fit);
    const std::int64_t least = predict_memory_in(true, plan).memory.training();
    const ProcessLimit limited(least + 8'000'000 - missing);
    return error_of([&] { run(plan, temporary.path() / "none"); });
  };
  const std::string scratch = fit_of(linear, R"(, "loss": "cross_entropy", "batch": 64, "steps": 2)");
  std::string text = scratch;
  const std::string flatten = R"({"@": "nn.Flatten"}, )";
  text.insert(text.find(flatten) + flatten.size(), R"({"@": "nn.Scratch", "bytes": 8000000}, )");
  CHECK_THAT(message(text, 7'500'000),
             Catch::Contains("model[2].Scratch: out of memory: 7.6 MiB more would pass the limit of ") &&
                 Catch::Contains("hint: a smaller model is needed: the options with the least memory are "));
  // The metric keeps the scores of all samples of the validation part: the limit is met by its next piece, or by the
  // outputs of the model that this piece is made of. No batch is made ahead.
  const std::string scores = R"({"@": "fit", "name": "test", "data": {"@": "data:split", "source":
    {"@": "data.blobs", "classes": 2, "samples": 400000, "features": 2}, "train": 0.01, "val": 0.99},
    "model": {"@": "nn.Linear", "out_features": 2}, "loss": "cross_entropy", "metrics": ["auc"], "batch": 64,
    "optim": {"@": "optim.SGD", "lr": 0.1}, "steps": 1, "loader": {"threads": 0}})";
  const std::string found = message(scores, 7'500'000);
  CHECK_THAT(found, Catch::Contains("fit: out of memory: ") || Catch::Contains("fit.model: out of memory: "));
  CHECK_THAT(found, Catch::Contains("hint: a smaller part to evaluate needs less "));
}

TEST_CASE("a loss that compares the samples of a batch is not divided") {
  const auto triplet = [](const std::string& more) {
    return fit_of(linear, R"(, "loss": "triplet", "steps": 2)" + more);
  };
  const FitPlan plan = planned(triplet(R"(, "batch": 256)"));
  CHECK_FALSE(goes_in_parts(plan));
  CHECK(plan.warnings.empty());
  const FitPlan divided = planned(triplet(R"(, "batch": 64, "accumulate": 4)"));
  REQUIRE(divided.warnings.size() == 1);
  CHECK_THAT(divided.warnings.front(), Catch::Contains("fit.accumulate: the loss compares the samples of a batch"));
  CHECK_FALSE(goes_in_parts(planned(fit_of(
      linear, R"(, "steps": 2, "batch": 256, "loss": {"@": "loss.sum", "losses": ["cross_entropy", "triplet"]})"))));
}

TEST_CASE("batch = \"auto\" is the largest that fits, and never more than the data holds") {
  const auto text = [](const std::string& memory) { return uneven_fit(R"(, "batch": "auto")" + memory); };
  CHECK(planned(text("")).loader.batch == 1792);  // of 1797 samples
  for (const auto& [samples, largest] : {std::pair(30, 24), std::pair(24, 24), std::pair(20, 16)}) {
    std::string few = text("");
    few.replace(few.find(R"({"@": "data.digits"})"), 20,
                R"({"@": "data.blobs", "classes": 10, "samples": )" + std::to_string(samples) + "}");
    CHECK(planned(few).loader.batch == largest);
  }
  const FitPlan large = planned(uneven_fit(R"(, "batch": 600)"));
  const std::int64_t budget = predict_memory(large).memory.training();
  const FitPlan plan = planned(text(R"(, "memory": {"budget": ")" + std::to_string(budget) + " B\"}"));
  const std::int64_t batch = plan.loader.batch;
  CHECK(batch % 8 == 0);
  CHECK(plan.length.steps_per_epoch == (1797 + batch - 1) / batch);
  CHECK(plan.chosen == Value(Value::Map{{"batch", batch}}));
  CHECK_THAT(plan.notes.front(), Catch::StartsWith("batch = \"auto\": " + std::to_string(batch) + " samples, "));
  const auto peak = [&](std::int64_t samples) {
    const auto of_size = [=](FitPlan& dry) { dry.loader.batch = samples; };
    return static_cast<double>(predict_memory(plan, 1, of_size).memory.training());
  };
  CHECK(peak(batch) <= 0.9 * static_cast<double>(budget));
  CHECK(peak(batch + batch / 16 + 8) > 0.9 * static_cast<double>(budget));

  // A run that goes on has recorded the batch.
  RunSettings settings = test_settings();
  settings.chosen = Value::Map{{"batch", 40}};
  CHECK(plan_fit(parse_options(text("")), settings).loader.batch == 40);
}

TEST_CASE("batch = \"auto\" divides `effective`, and a step has the gradients of one batch of this size") {
  const auto peak = [&](const char* batches) {
    return static_cast<double>(predict_memory(planned(weighted_fit(batches))).memory.training());
  };
  // Larger ones are too large for nine tenths of the budget.
  const double budget = peak(R"(, "batch": 256, "accumulate": 4)") / 0.9 + 1000;
  REQUIRE(peak(R"(, "batch": 512, "accumulate": 2)") > 0.9 * budget);
  REQUIRE(peak(R"(, "batch": 1024)") > 0.9 * budget);
  const std::string text = weighted_fit(R"(, "batch": "auto", "effective": 1024, "memory": {"budget": ")" +
                                        std::to_string(static_cast<std::int64_t>(budget)) + " B\"}");
  const FitPlan plan = planned(text);
  CHECK(plan.loader.batch == 256);
  CHECK(plan.accumulate == 4);
  CHECK(plan.length.batch == 1024);
  CHECK(plan.chosen == Value(Value::Map{{"batch", 256}}));
  CHECK_THAT(plan.notes.front(), Catch::StartsWith("batch = \"auto\": 256 samples, accumulate = 4, 2 steps an epoch"));

  const TemporaryFolder temporary;
  run(planned(weighted_fit(R"(, "batch": 1024)")), temporary.path() / "whole");
  const Ran ran = run(plan, temporary.path() / "divided");
  CHECK(ran.said.empty());
  CHECK(ran.summary["memory"]["chosen"] == Value(Value::List{"batch=256", "accumulate=4"}));
  CHECK(ran.summary["memory"]["peak"].number() <= budget);
  // The plan that is predicted here holds the data once more.
  CHECK(ran.summary["memory"]["plain"].number() == Approx(peak(R"(, "batch": 1024)")).epsilon(0.01));
  const double worst = greatest_difference(temporary.path() / "whole", temporary.path() / "divided");
  CHECK(worst < 1e-12);
  CHECK(worst > 0);

  // A run that goes on has recorded the batch.
  RunSettings settings = test_settings();
  settings.chosen = Value::Map{{"batch", 32}};
  CHECK(plan_fit(parse_options(text), settings).accumulate == 32);
  // With room for all, there is one batch, and nothing saves memory.
  const FitPlan whole = planned(weighted_fit(R"(, "batch": "auto", "effective": 1024)"));
  CHECK(whole.accumulate == 1);
  const Value memory = run(whole, temporary.path() / "one").summary["memory"];
  CHECK(memory["plain"] == memory["peak"]);
}

TEST_CASE("batch = \"auto\" finds a divisor of `effective` also where still smaller ones need more buffers") {
  const auto text = [](const std::string& batch) {
    return R"({"@": "fit", "name": "test", "data": {"@": "data.blobs", "samples": 8192, "features": 64},
      "model": {"@": "nn.Linear", "out_features": 3}, "loss": "cross_entropy", "epochs": 9,
      "optim": {"@": "optim.SGD", "lr": 0.1}, )" +
           batch + "}";
  };
  const auto peak = [&](std::int64_t batch) {
    return predict_memory(planned(text("\"batch\": " + std::to_string(batch) +
                                       ", \"accumulate\": " + std::to_string(1024 / batch))))
        .memory.training();
  };
  std::map<std::int64_t, std::int64_t> peaks;  // bytes by batch
  for (std::int64_t batch = 1; batch <= 1024; batch *= 2) peaks[batch] = peak(batch);
  const auto least = std::ranges::min_element(peaks, {}, [](const auto& one) { return one.second; });
  REQUIRE(least->first > 1);
  REQUIRE(least->second < peaks[1] - 1000);
  const auto within = [&](std::int64_t bytes) {
    return text(R"("batch": "auto", "effective": 1024, "memory": {"budget": ")" + std::to_string(bytes) + " B\"}");
  };
  CHECK(planned(within((least->second + 500) * 10 / 9)).loader.batch == least->first);
  // The hint names options with which the training does fit.
  const std::string message = error_of([&] { planned(within(least->second)); });
  CHECK_THAT(message,
             Catch::Contains("a training with micro-batches of " + std::to_string(least->first) + " samples") &&
                 Catch::Contains("hint: it fits with loader = { threads = 0 } ("));
}

TEST_CASE("a limit that the loader's buffers would pass is refused before the first step, with what fits") {
  const TemporaryFolder temporary;
  const std::string small = R"({"@": "fit", "name": "test", "data": {"@": "data.digits"},
    "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 10}]},
    "optim": {"@": "optim.SGD", "lr": 0.1}, "loss": "cross_entropy", "batch": 32, "epochs": 3)";
  const FitPlan plan = planned(small + "}");
  const FitPlan without = planned(small + R"(, "loader": {"threads": 0}})");
  const ProcessLimit limited(predict_memory(without).memory.training() + 200'000);
  const std::string message = error_of([&] { run(plan, temporary.path() / "a"); });
  CHECK_THAT(message, Catch::Contains("for the training, a sample at a time; in a step weights ") &&
                          Catch::Contains("hint: it fits with loader = { threads = 0 } ("));
  CHECK(run(without, temporary.path() / "b").summary["status"] == Value("done"));
}

TEST_CASE("a prediction beside a watched training is not heard by the watch") {
  struct Heard final : LayerListener {
    void passed(const Layer&, const at::Tensor&, const at::Tensor&, const Pass&) override { ++count; }
    int count = 0;
  } heard;
  const FitPlan plan = planned(uneven_fit(R"(, "batch": 256)"));
  LayerListener* const before = listen_to_layers(&heard);
  const std::string why = predict_memory(plan).estimated_because;
  listen_to_layers(before);
  CHECK(why == "");
  CHECK(heard.count == 0);
}

TEST_CASE("`effective` is refused where nothing can divide it") {
  const auto message = [](const std::string& more) { return error_of([&] { planned(weighted_fit(more)); }); };
  CHECK_THAT(message(R"(, "batch": 64, "effective": 256)"),
             Catch::Contains("fit.effective: is divided by batch = \"auto\", found batch = 64") &&
                 Catch::Contains("hint: batch = \"auto\", or accumulate in place of effective"));
  CHECK_THAT(message(R"(, "batch": "auto", "effective": 256, "accumulate": 4)"),
             Catch::Contains("fit.effective: expected either accumulate or effective, found both"));
  CHECK_THAT(message(R"(, "batch": "auto", "effective": 2048)"),
             Catch::Contains("fit.effective: expected at most the 1797 training samples, found 2048"));
  CHECK_THAT(message(R"(, "batch": "auto", "effective": 0)"),
             Catch::Contains("fit.effective: expected an integer ≥ 1, found 0"));
  CHECK_THAT(message(R"(, "batch": "auto", "effective": 256, "memory": {"budget": "10 kB"})"),
             Catch::Contains("fit.batch: a training with micro-batches of ") &&
                 Catch::Contains(", found room for 8.8 KiB") && Catch::Contains("hint: a smaller model is needed"));
}

TEST_CASE("batch = \"auto\" is refused where nobody can tell, or nothing fits") {
  const auto message = [](const std::string& more, std::vector<std::shared_ptr<Callable>> functions = {}) {
    return error_of([&] { planned(fit_of(linear, R"(, "steps": 2, "batch": "auto")" + more), std::move(functions)); });
  };
  const auto nothing = native([](std::span<const Argument>) { return std::vector<Argument>(); });
  const std::string loss = R"(, "loss": "cross_entropy")";
  CHECK_THAT(
      message(R"(, "loss": {"@": "function", "index": 0})", {nothing}),
      Catch::Contains("fit.batch: \"auto\" cannot tell what a step takes: the loss is a function of the recipe"));
  CHECK_THAT(message(loss + R"(, "memory": {"budget": "10 kB"})"),
             Catch::Contains("fit.batch: a training with steps of one sample takes ") &&
                 Catch::Contains(", found room for 8.8 KiB"));
  CHECK_THAT(message(loss + R"(, "memory": {"recompute": "auto"})"),
             Catch::Contains("fit.memory.recompute: \"auto\" makes room for a given batch, found batch = \"auto\""));
  CHECK_THAT(error_of([] { parse_options(uneven_fit(R"(, "batch": "large")")); }),
             Catch::Contains("fit.batch: expected an integer ≥ 1 or \"auto\""));
}

TEST_CASE("a short fit counts the batches that it takes, not all buffers of a loader") {
  const auto text = [](int steps) {
    return fit_of(linear, R"(, "loss": "cross_entropy", "batch": 64, "steps": )" + std::to_string(steps));
  };
  const TrainingMemory brief = predict_memory(planned(text(2))).memory,
                       usual = predict_memory(planned(text(1000))).memory;
  CHECK(brief.batches < 3 * 64 * 80 * 4);
  CHECK(usual.batches > 30 * brief.batches);
  CHECK(static_cast<double>(usual.training() - brief.training()) ==
        Approx(static_cast<double>(usual.batches - brief.batches)).epsilon(0.001));
  const TemporaryFolder temporary;
  const Value memory = run(planned(text(2)), temporary.path()).summary["memory"];
  CHECK(memory["peak"].number() == Approx(static_cast<double>(brief.training())).epsilon(0.05));
}

TEST_CASE("the summary tells the memory of a step by kind") {
  const TemporaryFolder temporary;
  const FitPlan plan = planned(uneven_fit(R"(, "batch": 256)"));
  const MemoryLedger predicted = predict_memory(plan).memory.ledger;
  const Value memory = run(plan, temporary.path()).summary["memory"];
  const Value::Map& kinds = memory["categories"].map();
  std::int64_t sum = 0;
  for (const auto& [name, bytes] : kinds) sum += name == "program" ? 0 : bytes.integer();
  CHECK(kinds.at("program").integer() > 0);
  CHECK(sum == memory["step"].integer());
  CHECK(memory["plain"] == memory["peak"]);
  CHECK(sum <= memory["peak"].integer());
  for (const char* kind : {"weights", "activations", "gradients"}) {
    INFO(kind);
    const auto index = std::string_view(kind) == "weights"       ? MemoryKind::weights
                       : std::string_view(kind) == "activations" ? MemoryKind::activations
                                                                 : MemoryKind::gradients;
    // Allocators hand out blocks in steps.
    CHECK(kinds.at(kind).number() == Approx(static_cast<double>(predicted.of(index))).epsilon(0.01));
  }
  CHECK(memory["budget"].is_nil());
  CHECK(memory["chosen"].list().empty());
}

TEST_CASE("the memory of a step is that of a whole batch, also where the last batch of an epoch is smaller") {
  const TemporaryFolder temporary;
  // An epoch has a batch of 1700 samples and one of 97.
  for (const char* const steps : {"1", "2", "4"}) {
    const FitPlan plan = planned(fit_of(linear, R"(, "loss": "cross_entropy", "loader": {"threads": 0}, "batch": 1700,
      "validate": "100 steps", "steps": )" + std::string(steps)));
    const Value memory = run(plan, temporary.path() / steps).summary["memory"];
    INFO(steps);
    CHECK(memory["step"].integer() == memory["peak"].integer());
    CHECK(memory["step"].number() == Approx(static_cast<double>(predict_memory(plan).memory.step())).epsilon(0.01));
  }
}

}  // namespace trainlab::memory_limit_test
