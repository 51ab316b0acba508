// What the recording of layers and operators costs: a small and a larger MLP and a CNN on MNIST, and a small GPT.
//
//   bench_layers MNIST-FOLDER TEXT-FILE [TABLES]
//
// A line {"fit", "step_ms", "overhead", "sum"} for each fit: a plain step, how much longer a recorded step takes, and
// the sum of the rows as a part of a plain step. With a third word the tables too.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "profile/layers.h"
#include "support/fit_support.h"
#include "tensor/types.h"

using namespace trainlab;

namespace {

std::string layer(const std::string& name, const std::string& options = "") {
  return R"({"@": "nn.)" + name + "\"" + (options.empty() ? "" : ", " + options) + "}";
}
std::string linear(int outputs) { return layer("Linear", R"("out_features": )" + std::to_string(outputs)); }
std::string conv(int channels) {
  return layer("Conv2d", R"("kernel_size": 3, "padding": 1, "out_channels": )" + std::to_string(channels));
}

std::string fit(const std::string& data, const std::string& layers, int batch) {
  return R"({"@": "fit", "name": "bench", "data": )" + data + R"(, "model": {"@": "nn.Sequential", "layers": [)" +
         layers + R"(]}, "loss": "cross_entropy", "optim": {"@": "optim.AdamW", "lr": 0.001}, "steps": 100000,
         "validate": "100000 steps", "batch": )" +
         std::to_string(batch) + "}";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: bench_layers MNIST-FOLDER TEXT-FILE [TABLES]\n");
    return 2;
  }
  const std::string mnist = R"({"@": "data.mnist", "path": ")" + std::string(argv[1]) + "\"}";
  const std::string text = R"({"@": "data.text", "context": 64, "path": ")" + std::string(argv[2]) + "\"}";
  const std::string relu = layer("ReLU") + ", ", pool = layer("MaxPool2d", R"("kernel_size": 2)") + ", ";
  const std::string flat = layer("Flatten") + ", ", drop = layer("Dropout", R"("p": 0.2)") + ", ";
  const std::string block = layer("TransformerEncoderLayer", R"("num_heads": 4, "causal": true, "bias": false)") + ", ";
  const std::vector<std::pair<std::string, std::string>> fits = {
      {"mlp", fit(mnist, flat + linear(128) + ", " + relu + drop + linear(10), 64)},
      {"large mlp", fit(mnist, flat + linear(1024) + ", " + relu + linear(1024) + ", " + relu + linear(10), 256)},
      {"cnn",
       fit(mnist,
           conv(16) + ", " + relu + pool + conv(32) + ", " + relu + pool + flat + linear(64) + ", " + relu + linear(10),
           64)},
      {"gpt",
       fit(text,
           layer("Embedding", R"("num_embeddings": 65, "embedding_dim": 128)") + ", " + layer("PositionalEmbedding") +
               ", " + block + block + block + block + layer("LayerNorm") + ", " + linear(65),
           12)},
  };
  prepare_arithmetic(1);
  RunSettings settings;
  settings.device = "cpu";
  for (const auto& [name, spec] : fits) {
    const FitPlan plan = plan_fit(test::parse_options(spec), settings);
    const LayerTable table = measure_layers(plan, {.first = 20, .count = 200});
    double sum = 0;
    for (const LayerCost& row : table.rows) sum += row.seconds();
    std::printf("{\"fit\": \"%s\", \"step_ms\": %.3f, \"overhead\": %.4f, \"sum\": %.4f}\n", name.c_str(),
                1e3 * table.plain_seconds, table.overhead, sum / table.plain_seconds);
    if (argc > 3) {
      for (const LayerView view : {LayerView::layers, LayerView::operators})
        std::printf("%s\n", table.text(view).c_str());
    }
    std::fflush(stdout);
  }
  return 0;
}
