// Savings and costs of activations that are computed again, fused steps, losses in chunks, and lean weights and states:
// steps of a deep MLP, a transformer, a residual net, a net with a large head and one of many weights, in turns with
// the plain step.
//
//   bench_recompute [THREADS]
//
// A line {"fit", "way", "activations_mb", "peak_mb", "weight_bytes", "step_ms", "ratio"} for each way: the bytes of
// activations and temporaries when the step holds most, all bytes then, also by weight, the median of the steps, and
// the median of its ratios to the plain step beside it. `arithmetic` is what weights, gradients and states take by
// weight.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/statistics.h"
#include "core/trace.h"
#include "data/loader.h"
#include "support/fit_support.h"
#include "tensor/memory.h"
#include "tensor/types.h"
#include "train/group.h"
#include "train/memory_prediction.h"
#include "train/memory_recorder.h"

using namespace trainlab;

namespace {

constexpr int rounds = 11;

// The bytes of a weight in a step, where that is known without a measure.
struct Arithmetic {
  double bytes = 0;
};

std::string layer(const std::string& name, const std::string& options = "") {
  return R"({"@": "nn.)" + name + "\"" + (options.empty() ? "" : ", " + options) + "}";
}
std::string linear(int outputs) { return layer("Linear", R"("out_features": )" + std::to_string(outputs)); }
std::string repeat(int times, const std::string& inner) {
  return layer("Repeat", R"("times": )" + std::to_string(times) + R"(, "layer": )" + inner);
}

std::string fit(const std::string& data, const std::string& layers, int batch, const std::string& optim = "AdamW") {
  return R"({"@": "fit", "name": "bench", "data": )" + data + R"(, "model": {"@": "nn.Sequential", "layers": [)" +
         layers + R"(]}, "loss": "cross_entropy", "optim": {"@": "optim.)" + optim +
         R"(", "lr": 0.001}, "steps": 100000, "validate": "100000 steps", "batch": )" + std::to_string(batch);
}

// A fit with one value of the option `memory`, step by step.
class Way {
 public:
  Way(std::string name, const std::string& fit, const std::string& memory, Arithmetic arithmetic = {})
      : name_(std::move(name)),
        arithmetic_(arithmetic),
        plan_(
            plan_fit(test::parse_options(fit + (memory.empty() ? "" : R"(, "memory": )" + memory) + "}"), settings())),
        keys_{Key(1)},
        optimizers_{plan_.options.child("optim")},
        group_(plan_, keys_, optimizers_, false),
        loader_(plan_.data.train, plan_.loader, keys_, false) {
    step();
    MemoryRecorder recorder(tensor_memory());
    const MemoryListening memory_of_step(recorder);
    const Listening spans(recorder);
    step();
    ledger_ = recorder.ledger();
  }

  double step() {
    const std::vector<Batch> batches{next_batch(plan_, loader_)};
    const std::vector<double> rates{0.001};
    const double before = steady_seconds();
    const Span span(Phase::step);
    group_.step(batches, step_++, {.rates = rates});
    return steady_seconds() - before;
  }

  const std::string& name() const { return name_; }
  std::int64_t peak() const { return ledger_.peak - before_; }
  double activations_mb() const {
    return static_cast<double>(ledger_.of(MemoryKind::activations) + ledger_.of(MemoryKind::temporaries)) / 1e6;
  }
  double weight_bytes() const { return static_cast<double>(peak()) / static_cast<double>(plan_.parameter_count()); }
  double arithmetic() const { return arithmetic_.bytes; }
  std::int64_t predicted() const { return predict_memory(plan_).memory.training(); }

  std::vector<double> seconds;

 private:
  static RunSettings settings() {
    RunSettings settings;
    settings.device = "cpu";
    return settings;
  }

  std::int64_t before_ = live_tensor_bytes();  // of the other ways
  std::string name_;
  Arithmetic arithmetic_;
  FitPlan plan_;
  std::vector<Key> keys_;
  std::vector<Options> optimizers_;
  Group group_;
  Loader loader_;
  MemoryLedger ledger_;
  std::int64_t step_ = 0;
};

void print(const std::string& fit, std::vector<std::unique_ptr<Way>>& ways) {
  for (int round = 0; round < rounds; ++round) {
    for (const auto& way : ways) way->seconds.push_back(way->step());
  }
  for (const auto& way : ways) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < way->seconds.size(); ++i) ratios.push_back(way->seconds[i] / ways.front()->seconds[i]);
    std::printf(
        "{\"fit\": \"%s\", \"way\": \"%s\", \"activations_mb\": %.2f, \"peak_mb\": %.2f, \"weight_bytes\": %.3f, "
        "\"arithmetic\": %.3f, \"step_ms\": %.3f, \"ratio\": %.3f}\n",
        fit.c_str(), way->name().c_str(), way->activations_mb(), static_cast<double>(way->peak()) / 1e6,
        way->weight_bytes(), way->arithmetic(), 1e3 * upper_median(way->seconds), upper_median(ratios));
    std::fflush(stdout);
  }
}

void measure_recompute(const std::string& name, const std::string& spec, const std::vector<int>& sizes) {
  std::vector<std::unique_ptr<Way>> ways;
  ways.push_back(std::make_unique<Way>("plain", spec, ""));
  ways.push_back(std::make_unique<Way>("cheap", spec, R"({"recompute": "cheap"})"));
  for (const int size : sizes) {
    const std::string every = "every " + std::to_string(size);
    ways.push_back(std::make_unique<Way>(every, spec, R"({"recompute": ")" + every + "\"}"));
    // The plan for the memory of these segments. The loaders of the other ways may still fill their buffers.
    const std::int64_t budget = ways.back()->predicted() + (std::int64_t{1} << 20);
    ways.push_back(std::make_unique<Way>("auto for the memory of " + every, spec,
                                         R"({"recompute": "auto", "budget": ")" + std::to_string(budget) + " B\"}"));
  }
  print(name, ways);
}

// ResNet-18 for images of 32 × 32 (He et al. 2016): a first layer of 3 × 3 without a pool, eight blocks.
std::string resnet() {
  const auto conv = [](int channels, int kernel, int stride) {
    return layer("Conv2d", R"("out_channels": )" + std::to_string(channels) + R"(, "kernel_size": )" +
                               std::to_string(kernel) + R"(, "stride": )" + std::to_string(stride) +
                               R"(, "padding": )" + std::to_string(kernel / 2) + R"(, "bias": false)") +
           ", " + layer("BatchNorm2d");
  };
  const std::string relu = ", " + layer("ReLU") + ", ";
  std::string all = layer("Reshape", R"("shape": [3, 32, 32])") + ", " + conv(64, 3, 1) + relu;
  for (const int channels : {64, 128, 256, 512}) {
    for (const int stride : {channels == 64 ? 1 : 2, 1}) {
      std::string block = R"("body": [)" + conv(channels, 3, stride) + relu + conv(channels, 3, 1) + "]";
      if (stride == 2)
        block += R"(, "shortcut": )" + layer("Sequential", R"("layers": [)" + conv(channels, 1, stride) + "]");
      all += layer("Residual", block) + relu;
    }
  }
  return all + layer("AdaptiveAvgPool2d", R"("output_size": 1)") + ", " + layer("Flatten") + ", " + linear(10);
}

// Nearly all memory is that of the weights, and of what a step has for each of them. Blocks of memory are multiples of
// half a MiB, which matrices of this width nearly fill in each type.
void measure_lean() {
  constexpr int width = 2172, count = 6;
  const std::string layers = repeat(count, linear(width)) + ", " + linear(10);
  const std::string blobs =
      R"({"@": "data.blobs", "classes": 10, "samples": 64, "features": )" + std::to_string(width) + "}";
  const std::string loader = R"(, "loader": {"prefetch": 1})";
  const auto adam = [&](const std::string& state, const std::string& more = "") {
    return fit(blobs, layers, 8, R"(AdamW", "state": ")" + state) + loader + more;
  };
  const auto bfloat16 = [](const char* rounding) {
    return std::string(R"(, "precision": {"compute": "bfloat16", "weights": "bfloat16", "rounding": ")") + rounding +
           "\"}";
  };
  const std::string random = bfloat16("stochastic"), rest = bfloat16("compensated");
  const std::string fused = R"({"fuse_step": true})";
  // `one`: of one layer at a time, its gradient, or the update that Adafactor computes before it takes it.
  constexpr double codes = 2 + 8.0 / 256, one = 1.0 / count;
  std::vector<std::unique_ptr<Way>> ways;
  const auto add = [&](const char* name, const std::string& spec, const std::string& memory, double bytes) {
    ways.push_back(std::make_unique<Way>(name, spec, memory, Arithmetic{bytes}));
  };
  add("plain", adam("full"), "", 4 + 4 + 8);
  add("fuse_step", adam("full"), fused, 4 + 4 * one + 8);
  add("state = bfloat16", adam("bfloat16"), "", 4 + 4 + 4);
  add("state = 8bit", adam("8bit"), "", 4 + 4 + codes);
  add("state = 8bit, fuse_step", adam("8bit"), fused, 4 + 4 * one + codes);
  add("Adafactor", fit(blobs, layers, 8, "Adafactor") + loader, "", 4 + 4 + 8.0 / width + 4 * one);
  add("bfloat16 weights, stochastic", adam("full", random), "", 2 + 2 + 8);
  add("bfloat16 weights, stochastic, state = bfloat16", adam("bfloat16", random), "", 2 + 2 + 4);
  add("bfloat16 weights, compensated, state = bfloat16", adam("bfloat16", rest), "", 2 + 2 + 4 + 2);
  add("bfloat16 weights, stochastic, state = 8bit, fuse_step", adam("8bit", random), fused, 2 + 2 * one + codes);
  print("6 layers of 2172, batch 8", ways);
}

}  // namespace

int main(int argc, char** argv) {
  count_tensor_memory();
  prepare_arithmetic(argc > 1 ? std::atoi(argv[1]) : 1);
  const test::TemporaryFolder folder;
  const std::string text = (folder.path() / "text.txt").string();
  {
    std::ofstream file(text);
    std::uint32_t state = 1;
    for (int i = 0; i < 200000; ++i) {
      state = state * 1664525 + 1013904223;
      file << static_cast<char>('a' + (state >> 24) % 26);
    }
  }
  const std::string words = R"({"@": "data.text", "context": 64, "path": ")" + text + "\"}";
  const std::string digits = R"({"@": "data.digits"})", flat = layer("Flatten") + ", ";
  const std::string dense = layer("Sequential", R"("layers": [)" + linear(256) + ", " + layer("GELU") + ", " +
                                                    layer("Dropout", R"("p": 0.1)") + "]");
  const std::string block = layer("TransformerEncoderLayer", R"("num_heads": 4, "causal": true)");
  measure_lean();
  measure_recompute("MLP of 64 layers", fit(digits, flat + repeat(64, dense) + ", " + linear(10), 512), {24, 12});
  measure_recompute(
      "transformer of 12 blocks",
      fit(words,
          layer("Embedding", R"("num_embeddings": 26, "embedding_dim": 128)") + ", " + layer("PositionalEmbedding") +
              ", " + repeat(12, block) + ", " + layer("LayerNorm") + ", " + linear(26),
          16),
      {4, 1});

  measure_recompute("ResNet-18, 32 images of 32 × 32",
                    fit(R"({"@": "data.blobs", "classes": 10, "samples": 64, "features": 3072})", resnet(), 32, "SGD"),
                    {4, 2});

  std::vector<std::unique_ptr<Way>> ways;
  const std::string deep = fit(digits, flat + repeat(24, linear(512)) + ", " + linear(10), 64);
  ways.push_back(std::make_unique<Way>("plain", deep, ""));
  ways.push_back(std::make_unique<Way>("fuse_step", deep, R"({"fuse_step": true})"));
  print("24 layers of 512, batch 64", ways);
  ways.clear();
  const std::string wide = fit(R"({"@": "data.blobs", "classes": 16384, "samples": 32768, "features": 64})",
                               linear(256) + ", " + linear(16384), 1024, "SGD");
  ways.push_back(std::make_unique<Way>("plain", wide, ""));
  ways.push_back(std::make_unique<Way>("chunk_loss", wide, R"({"chunk_loss": true})"));
  print("16,384 classes, 1,024 rows", ways);
  return 0;
}
