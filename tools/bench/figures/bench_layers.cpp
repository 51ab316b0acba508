// The time that the recording of layers and operators takes, and that of the counters of phases: in a small and a
// larger MLP and a CNN on MNIST, and in a small GPT.
//
//   bench_layers MNIST-FOLDER TEXT-FILE [TABLES]
//
// A line {"fit", "step_ms", "overhead", "counters"} for each fit: a plain step, how much longer a step takes whose rows
// are timed (null where that is not known), and how much longer one takes whose phases are counted. With a third word
// the tables too.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/statistics.h"
#include "core/trace.h"
#include "profile/layers.h"
#include "steps/step_collector.h"
#include "support/fit_support.h"
#include "tensor/types.h"
#include "train/fit.h"

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

// Seconds of the processor in this thread, which other work on the machine does not lengthen.
double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Takes stretches of steps in turns, one that nobody listens to and one whose phases are counted.
class Turns final : public LoopObserver {
 public:
  explicit Turns(double step_seconds) : stretch_(std::max<std::int64_t>(1, std::llround(0.05 / step_seconds))) {}

  void stepped(std::int64_t step) override {
    // Listeners nest: this one must not begin within another one, as that of the first steps' memory.
    if (step % stretch_ != 0 || (!listening_ && trace::listener)) return;
    const double seconds = thread_seconds() - begun_;
    if (listening_) ratios_.push_back(seconds / plain_);
    if (ratios_.size() > pairs) throw SeenEnough();
    const bool was_plain = !listening_;
    listening_.reset();
    if (was_plain) {
      plain_ = seconds;
      listening_.emplace(collector_);
    }
    begun_ = thread_seconds();
  }
  // Without the first pair, which warms up.
  double overhead() const { return upper_median({ratios_.begin() + 1, ratios_.end()}) - 1; }

 private:
  static constexpr std::size_t pairs = 60;
  const std::int64_t stretch_;
  StepCollector collector_{{.seconds = 1e9, .precision = 0, .counted = 0}, steady_seconds};
  std::optional<Listening> listening_;
  std::vector<double> ratios_;
  double begun_ = 0, plain_ = 1;
};

double cost_of_counters(const FitPlan& plan, double step_seconds) {
  const auto turns = std::make_shared<Turns>(step_seconds);
  const FitMember member{.options = plan.options, .context = silent_context(plan.options), .shows_progress = false};
  try {
    run_fits(plan, {&member, 1}, false, {.observers = {turns}, .passes = {}});
  } catch (const SeenEnough&) {
    return turns->overhead();
  }
  throw run_error("the fit ended before its steps were timed");
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
    std::printf("{\"fit\": \"%s\", \"step_ms\": %.3f, \"overhead\": %s, \"counters\": %.4f}\n", name.c_str(),
                1e3 * table.step_seconds, table.overhead ? std::to_string(*table.overhead).c_str() : "null",
                cost_of_counters(plan, table.step_seconds));
    if (argc > 3) {
      for (const LayerView view : {LayerView::layers, LayerView::operators})
        std::printf("%s\n", table.text(view).c_str());
    }
    std::fflush(stdout);
  }
  return 0;
}
