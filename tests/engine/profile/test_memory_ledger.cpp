// The ledger of a training step adds up to what the allocator counts, and the prediction without values agrees with it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/trace.h"
#include "profile/record_memory.h"
#include "support/fit_support.h"
#include "support/task_support.h"
#include "tensor/dry_run.h"
#include "tensor/memory.h"
#include "tensor/types.h"
#include "train/memory_prediction.h"
#include "train/memory_recorder.h"

namespace trainlab::memory_ledger_test {

using namespace test;

namespace {

constexpr const char* adamw = R"({"@": "optim.AdamW", "lr": 0.005})";
constexpr const char* sgd = R"({"@": "optim.SGD", "lr": 0.05, "momentum": 0.9})";

// No batch is made ahead. A thread of the loader allocates beside the steps, so that the moment of the peak depends on
// when the thread gets its turn.
const std::string no_threads = R"(, "loader": {"threads": 0})";

// A fit on the digits, images of [1, 8, 8], with these layers.
std::string fit_of(const std::string& layers, const std::string& more = "", const std::string& optimizer = adamw,
                   int batch = 64) {
  return R"({"@": "fit", "name": "test",
    "data": {"@": "data:split", "source": {"@": "data.digits"}, "train": 0.8, "val": 0.1, "test": 0.1, "seed": 7},
    "model": {"@": "nn.Sequential", "layers": [)" +
         layers + R"(]}, "loss": "cross_entropy", "optim": )" + optimizer + R"(, "epochs": 2, "batch": )" +
         std::to_string(batch) + more + "}";
}

const std::string mlp =
    R"({"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 512}, {"@": "nn.GELU"}, {"@": "nn.Dropout", "p": 0.1},
       {"@": "nn.Linear", "out_features": 512}, {"@": "nn.ReLU"}, {"@": "nn.Linear", "out_features": 10})";
const std::string cnn =
    R"({"@": "nn.Conv2d", "out_channels": 32, "kernel_size": [3, 3], "padding": [1, 1]}, {"@": "nn.BatchNorm2d"},
       {"@": "nn.ReLU"}, {"@": "nn.MaxPool2d", "kernel_size": [2, 2]},
       {"@": "nn.Conv2d", "out_channels": 64, "kernel_size": [3, 3], "padding": [1, 1]}, {"@": "nn.ReLU"},
       {"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 10})";
const std::string transformer =
    R"({"@": "nn.Reshape", "shape": [8, 8]}, {"@": "nn.Linear", "out_features": 64},
       {"@": "nn.TransformerEncoderLayer", "num_heads": 4}, {"@": "nn.TransformerEncoderLayer", "num_heads": 4},
       {"@": "nn.LayerNorm"}, {"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 10})";
const std::string lstm =
    R"({"@": "nn.Reshape", "shape": [8, 8]}, {"@": "nn.LSTM", "hidden_size": 128, "output": "last"},
       {"@": "nn.Linear", "out_features": 10})";

struct Case {
  const char* name;
  std::string fit;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"MLP", fit_of(mlp)},
      {"CNN with BatchNorm", fit_of(cnn)},
      {"transformer", fit_of(transformer)},
      {"LSTM", fit_of(lstm)},
      {"average of weights", fit_of(mlp, R"(, "ema": {"@": "ema"})")},
      {"accumulation", fit_of(mlp, R"(, "accumulate": 3)")},
      {"SGD and clipping", fit_of(mlp, R"(, "clip": {"norm": 1})", sgd)},
      {"float64", fit_of(mlp, R"(, "precision": "float64")")},
      {"no workers", fit_of(cnn, no_threads)},
  };
  return all;
}

FitPlan plan_of(const std::string& fit) {
  count_tensor_memory();
  prepare_arithmetic(1);
  return plan_fit(parse_options(fit), test_settings());
}

double off(std::int64_t predicted, std::int64_t recorded) {
  return std::abs(static_cast<double>(predicted) / static_cast<double>(recorded) - 1);
}

}  // namespace

TEST_CASE("the ledger's categories add up to the peak that the allocator counts, and its curve rises to the peak") {
  for (const Case& one : cases()) {
    INFO(one.name);
    const FitPlan plan = plan_of(one.fit);
    const RecordedMemory recorded = record_memory(plan);
    const MemoryLedger& ledger = recorded.ledger;
    CHECK(recorded.steps >= 3);
    CHECK(ledger.peak == recorded.counted_peak);
    CHECK(std::accumulate(ledger.bytes.begin(), ledger.bytes.end(), std::int64_t{0}) == ledger.peak);
    CHECK(std::ranges::max(ledger.curve, {}, &MemoryLedger::Point::bytes).bytes == ledger.peak);
    CHECK(ledger.curve.size() <= 257);
    CHECK(std::ranges::is_sorted(ledger.curve, {}, &MemoryLedger::Point::seconds));
    std::int64_t activations = 0;
    for (const MemoryLedger::Layer& layer : ledger.layers) activations += layer.activations;
    CHECK(activations == ledger.of(MemoryKind::activations));
    CHECK(recorded.resident >= ledger.peak);
    CHECK(recorded.program() + ledger.peak == recorded.resident);
  }
}

TEST_CASE("a ledger knows weights, gradients, the optimizer's state and averages by their sizes") {
  const FitPlan plan = plan_of(fit_of(mlp, R"(, "ema": {"@": "ema"})" + no_threads, adamw, 8));
  const MemoryLedger ledger = record_memory(plan).ledger;
  std::int64_t weights = 0;
  for (const ParameterInfo& info : plan.model->parameters()) weights += block_bytes(4 * element_count(info.shape));
  const auto near = [&](MemoryKind kind, std::int64_t bytes) {
    INFO(memory_kind_name(kind) << " " << ledger.of(kind) << ", expected about " << bytes);
    return off(ledger.of(kind), bytes) < 0.01;
  };
  CHECK(near(MemoryKind::weights, weights));
  CHECK(near(MemoryKind::optimizer, 2 * weights));  // both moments of AdamW
  CHECK(near(MemoryKind::averages, weights));
  // With so small a batch the peak is where nearly all gradients are there.
  CHECK(ledger.of(MemoryKind::gradients) > weights / 2);
  CHECK(ledger.of(MemoryKind::gradients) < weights + weights / 100);
}

TEST_CASE("activations are told by the layer that keeps them, and the peak by its phase") {
  const MemoryLedger ledger =
      record_memory(plan_of(fit_of(
                        R"({"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 1024}, {"@": "nn.GELU"},
         {"@": "nn.Linear", "out_features": 10})",
                        no_threads, adamw, 256)))
          .ledger;
  // GELU keeps its input, which the layer before it has made; the last layer keeps its input, which GELU has made.
  const auto of_layer = [&](const std::string& path) {
    const auto found = std::ranges::find(ledger.layers, path, &MemoryLedger::Layer::path);
    return found == ledger.layers.end() ? 0 : found->activations;
  };
  constexpr std::int64_t one = 4 * 256 * 1024;
  for (const char* const path : {"fit.model[2].Linear", "fit.model[3].GELU"}) {
    INFO(path);
    CHECK(of_layer(path) >= one);
    CHECK(of_layer(path) <= block_bytes(one));
  }
  CHECK(ledger.phase == Phase::backward);
  const Value value = ledger.to_value();
  CHECK(value["at"]["phase"] == Value("backward"));
  CHECK(value["categories"]["activations"] == Value(ledger.of(MemoryKind::activations)));
  CHECK(value["curve"].list().size() == ledger.curve.size());
}

TEST_CASE("a fit that is shorter than asked is recorded in its last step") {
  std::string fit = fit_of(mlp, no_threads);
  fit.replace(fit.find(R"("epochs": 2)"), 11, R"("steps": 1)");
  const RecordedMemory recorded = record_memory(plan_of(fit));
  CHECK(recorded.steps == 1);
  CHECK(recorded.ledger.peak == recorded.counted_peak);
  CHECK(recorded.to_value()["counted_peak"] == Value(recorded.counted_peak));
  CHECK(recorded.ledger.peak > 0);
}

TEST_CASE("what the forward pass of an earlier step has left is no activation of the next step") {
  count_tensor_memory();
  prepare_arithmetic(1);
  constexpr std::int64_t bytes = 1 << 20;
  for (const MemoryKind left : {MemoryKind::script, MemoryKind::other}) {
    std::vector<at::Tensor> kept;
    std::vector<MemoryLedger> ledgers;
    MemoryRecorder recorder(tensor_memory(), left);
    const MemoryListening memory(recorder);
    const Listening spans(recorder);
    for (int step = 0; step < 3; ++step) {
      {
        const Span of_step(Phase::step);
        const Span forward(Phase::forward);
        kept.push_back(at::ones({bytes}, at::kByte));
      }
      ledgers.push_back(recorder.ledger());
    }
    const MemoryLedger& last = ledgers.back();
    const auto is_about = [](std::int64_t found, std::int64_t expected) {
      return found >= expected && found < expected + expected / 8;
    };
    CHECK(is_about(last.of(MemoryKind::activations), bytes));
    REQUIRE(last.layers.size() == 1);
    CHECK(last.layers[0].activations == last.of(MemoryKind::activations));
    CHECK(is_about(last.of(left) - ledgers.front().of(left), 2 * bytes));
  }
}

TEST_CASE("temporaries are told by the phase that makes them, the most at a time of each") {
  count_tensor_memory();
  prepare_arithmetic(1);
  constexpr std::int64_t bytes = 1 << 20;
  const auto temporary = [](std::int64_t times) { return at::ones({times * bytes}, at::kByte); };
  MemoryRecorder recorder(tensor_memory());
  const MemoryListening memory(recorder);
  const Listening spans(recorder);
  {
    const Span step(Phase::step);
    {
      const Span forward(Phase::forward);
      temporary(1);
      const at::Tensor one = temporary(2);
      temporary(1);  // three at a time
    }
    {
      const Span backward(Phase::backward);
      for (int i = 0; i < 4; ++i) temporary(1);  // one at a time
    }
  }
  const std::vector<MemoryLedger::Temporaries> most = recorder.ledger().temporaries;
  REQUIRE(most.size() == 2);
  CHECK(most[0].phase == Phase::forward);
  CHECK(most[0].bytes / bytes == 3);
  CHECK(most[1].phase == Phase::backward);
  CHECK(most[1].bytes / bytes == 1);
}

TEST_CASE("a step is recorded before the first validation, whose loader keeps buffers of its own") {
  // The loader's thread cannot have made 1024 batches by the end of the first epoch.
  const FitPlan plan = plan_of(fit_of(R"({"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 10})",
                                      R"(, "loader": {"threads": 1, "prefetch": 1024}, "metrics": ["accuracy"])"));
  REQUIRE(plan.validate_every == 23);
  const RecordedMemory recorded = record_memory(plan);
  CHECK(recorded.steps <= 23);
  CHECK(recorded.ledger.of(MemoryKind::batches) <= predict_memory(plan).memory.ledger.of(MemoryKind::batches));
  CHECK(recorded.ledger.of(MemoryKind::averages) == 0);  // no weights are kept as the best ones yet
}

namespace {

// A task that holds `bytes` more in each second pass of its durable loop than in the others.
Options task_of_passes(const Registry& registry, std::int64_t passes, std::int64_t bytes) {
  return task_of(registry, [passes, bytes](TaskContext& task) {
    const at::Tensor weight = at::ones({64, 64});
    TaskLoopOptions options;
    options.steps = passes;
    options.save = {weight};
    const auto loop = task.loop(options);
    for (std::int64_t pass = 0; loop->next(); ++pass) {
      if (pass == 1 && bytes < 0) throw recipe_error("no luck in pass 1");
      if (pass % 2 == 1) at::ones({bytes}, at::kByte).fill_(1);
      weight.mul_(0.5);
    }
  });
}

}  // namespace

TEST_CASE("the ledger of a task is that of the pass that held most") {
  Registry registry;
  register_task(registry);
  constexpr std::int64_t large = 1 << 20;
  const RecordedMemory recorded = record_task_memory(task_of_passes(registry, 1'000'000, large), test_settings());
  const MemoryLedger& ledger = recorded.ledger;
  CHECK(recorded.steps >= 3);
  CHECK(ledger.peak == recorded.counted_peak);
  CHECK(std::accumulate(ledger.bytes.begin(), ledger.bytes.end(), std::int64_t{0}) == ledger.peak);
  CHECK(ledger.of(MemoryKind::temporaries) >= large);

  CHECK(record_task_memory(task_of_passes(registry, 1, large), test_settings()).steps == 1);
  // The fourth pass, which is the last one, holds more than the third.
  const RecordedMemory last = record_task_memory(task_of_passes(registry, 4, large), test_settings());
  CHECK(last.ledger.of(MemoryKind::temporaries) >= large);
  CHECK_THROWS_WITH(record_task_memory(task_of_passes(registry, 0, large), test_settings()),
                    Catch::Contains("no pass through a loop of the task has ended"));
  CHECK_THROWS_WITH(record_task_memory(task_of_passes(registry, 9, -1), test_settings()),
                    Catch::Contains("no luck in pass 1"));
  CHECK(trace::listener == nullptr);
}

TEST_CASE("the peak is predicted without values, by category") {
  std::vector<double> all;
  for (const Case& one : cases()) {
    const FitPlan plan = plan_of(one.fit);
    const MemoryPrediction predicted = predict_memory(plan);
    const MemoryLedger ledger = record_memory(plan).ledger;
    const auto text = [](const MemoryLedger& of) { return to_json(of.to_value()["categories"]); };
    INFO(one.name << ": predicted " << text(predicted.memory.ledger) << "\nrecorded " << text(ledger) << "\n"
                  << predicted.estimated_because);
    CHECK(predicted.estimated_because.empty());
    CHECK(std::accumulate(predicted.memory.ledger.bytes.begin(), predicted.memory.ledger.bytes.end(),
                          std::int64_t{0}) == predicted.memory.ledger.peak);
    // Small blocks differ by some bytes with their place in memory.
    CHECK(off(predicted.memory.ledger.of(MemoryKind::weights), ledger.of(MemoryKind::weights)) < 0.005);
    CHECK(off(predicted.memory.ledger.of(MemoryKind::optimizer), ledger.of(MemoryKind::optimizer)) < 0.005);
    // The prediction counts all buffers of the loader; the threads that fill the buffers may come late on a busy
    // machine.
    CHECK(static_cast<double>(ledger.of(MemoryKind::batches)) <=
          1.01 * static_cast<double>(predicted.memory.ledger.of(MemoryKind::batches)));
    const auto beside_batches = [](const MemoryLedger& made) { return made.peak - made.of(MemoryKind::batches); };
    const double error = off(beside_batches(predicted.memory.ledger), beside_batches(ledger));
    CHECK(error < 0.1);
    all.push_back(error);
  }
  std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
  CHECK(all[all.size() / 2] < 0.02);
}

TEST_CASE("a prediction makes no tensors and calls no function of the recipe") {
  const FitPlan large = plan_of(fit_of(
      R"({"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 65536}, {"@": "nn.ReLU"},
         {"@": "nn.Linear", "out_features": 65536}, {"@": "nn.ReLU"}, {"@": "nn.Linear", "out_features": 10})"));
  reset_tensor_peak();
  const std::int64_t before = live_tensor_bytes();
  const MemoryPrediction predicted = predict_memory(large);
  CHECK(predicted.estimated_because.empty());
  CHECK(predicted.memory.ledger.peak > std::int64_t{60} << 30);
  CHECK(tensor_memory().peak - before < std::int64_t{16} << 20);

  bool is_called = false;
  const auto loss = native([&](std::span<const Argument>) -> std::vector<Argument> {
    is_called = true;
    return {};
  });
  std::string text = fit_of(mlp);
  text.replace(text.find(R"("cross_entropy")"), 15, R"({"@": "function", "index": 0})");
  const FitPlan own = plan_fit(parse_options(text, {loss}), test_settings());
  is_called = false;
  const MemoryPrediction estimated = predict_memory(own);
  CHECK(estimated.estimated_because == "the loss is a function of the recipe");
  // The least that the fit takes: what is there in any step, and no activations.
  const MemoryLedger least = estimated.memory.ledger, whole = predict_memory(plan_of(fit_of(mlp))).memory.ledger;
  for (const MemoryKind kind :
       {MemoryKind::weights, MemoryKind::gradients, MemoryKind::optimizer, MemoryKind::batches}) {
    INFO(memory_kind_name(kind));
    CHECK(least.of(kind) > 0);
    // At the peak of a step, the gradients of the first layers are not there yet.
    CHECK(least.of(kind) <= whole.of(kind == MemoryKind::gradients ? MemoryKind::weights : kind));
  }
  // Without what blocks are larger than what is asked for, which is much of so small a model.
  CHECK(static_cast<double>(least.of(MemoryKind::optimizer)) >=
        0.6 * static_cast<double>(whole.of(MemoryKind::optimizer)));
  CHECK(least.of(MemoryKind::batches) == whole.of(MemoryKind::batches));
  CHECK(least.of(MemoryKind::activations) == 0);
  CHECK(least.peak < whole.peak);
  CHECK_FALSE(is_called);
}

}  // namespace trainlab::memory_ledger_test
