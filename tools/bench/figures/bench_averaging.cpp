// Measures what an average of the weights and clipping add to their bare arithmetic: loops over the memory of the same
// tensors, written here. They are those of a small language model (4 layers of width 128); one thread, alternating.
//
//   bench_averaging        prints {"ema_us", "ema_bare_us", "ema_ratio", "clip_us", "clip_bare_us", "clip_ratio"}:
//                          medians; the ratios are medians over pairs
#include <ATen/ops/ones.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "core/callable.h"
#include "core/clock.h"
#include "core/clones.h"
#include "core/statistics.h"
#include "optim/average.h"
#include "optim/clip.h"
#include "optim/optimizer.h"
#include "tensor/types.h"

using namespace trainlab;

namespace {

constexpr int pairs = 600, warm_up = 50;

TRAINLAB_CLONES void bare_average(float* __restrict average, const float* __restrict x, std::int64_t n, float take) {
  for (std::int64_t i = 0; i < n; ++i) average[i] += take * (x[i] - average[i]);
}

TRAINLAB_CLONES double bare_squares(const float* x, std::int64_t n) {
  double sums[16] = {};
  for (std::int64_t i = 0; i + 16 <= n; i += 16)
    for (std::int64_t lane = 0; lane < 16; ++lane) sums[lane] += double(x[i + lane]) * double(x[i + lane]);
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

TRAINLAB_CLONES void bare_scale(float* x, std::int64_t n, float factor) {
  for (std::int64_t i = 0; i < n; ++i) x[i] *= factor;
}

std::vector<at::Tensor> weights() {
  std::vector<at::Tensor> all{at::ones({65, 128}), at::ones({64, 128})};
  for (int layer = 0; layer < 4; ++layer) {
    for (const auto& shape : std::vector<std::vector<std::int64_t>>{
             {128}, {128}, {384, 128}, {384}, {128, 128}, {128}, {128}, {128}, {512, 128}, {512}, {128, 512}, {128}})
      all.push_back(at::ones(shape));
  }
  return all;
}

// The memory of a tensor.
struct Block {
  float* data;
  std::int64_t size;
};

std::vector<Block> blocks(const std::vector<at::Tensor>& tensors) {
  std::vector<Block> all;
  for (const at::Tensor& tensor : tensors) all.push_back({tensor.mutable_data_ptr<float>(), tensor.numel()});
  return all;
}

// Times both in turn, the order swapped at every other pair; prints the medians.
template <class Ours, class Bare>
void compare(const char* name, Ours&& ours, Bare&& bare, const char* end) {
  std::vector<double> mine, theirs, ratios;
  const auto time = [](auto& act) {
    const double begin = steady_seconds();
    act();
    return steady_seconds() - begin;
  };
  for (int pair = 0; pair < warm_up + pairs; ++pair) {
    double a = 0, b = 0;
    if (pair % 2 == 0) {
      a = time(ours);
      b = time(bare);
    } else {
      b = time(bare);
      a = time(ours);
    }
    if (pair < warm_up) continue;
    mine.push_back(a * 1e6);
    theirs.push_back(b * 1e6);
    ratios.push_back(a / b);
  }
  std::printf("\"%s_us\": %.2f, \"%s_bare_us\": %.2f, \"%s_ratio\": %.4f%s", name, upper_median(mine), name,
              upper_median(theirs), name, upper_median(ratios), end);
}

}  // namespace

int main() {
  prepare_arithmetic(1);
  Registry registry;
  register_optim(registry);
  Spec spec{.value = registry.check(Value(Value::Map{{"@", "ema"}, {"decay", 0.999}})), .functions = {}};
  const Options ema(registry, std::make_shared<const Spec>(std::move(spec)), "ema");

  const std::vector<at::Tensor> values = weights(), gradients = weights();
  std::vector<AveragedTensor> named;
  std::int64_t n = 0;
  for (const at::Tensor& value : values) {
    named.push_back({.name = std::to_string(named.size()), .value = value});
    n += value.numel();
  }
  WeightAverage average(std::span(&ema, 1), {.total_steps = 1000, .steps_per_epoch = 100, .batch = 1}, named, 0);
  const std::vector<Block> x = blocks(values), y = blocks(average.values()), g = blocks(gradients);
  std::int64_t step = 0;
  std::printf("{\"values\": %lld, ", static_cast<long long>(n));
  compare(
      "ema", [&] { average.stepped(step++); },
      [&] {
        for (std::size_t i = 0; i < x.size(); ++i) bare_average(y[i].data, x[i].data, x[i].size, 0.001F);
      },
      ", ");
  // The bound falls a little each time, so that clipping always scales.
  double bound = std::sqrt(static_cast<double>(n));
  compare(
      "clip", [&] { clip_by_norm(gradients, bound *= 0.9999, 0); },
      [&] {
        double squares = 0;
        for (const Block& block : g) squares += bare_squares(block.data, block.size);
        const auto factor = static_cast<float>((bound *= 0.9999) / (std::sqrt(squares) + 1e-6));
        for (const Block& block : g) bare_scale(block.data, block.size, factor);
      },
      "}\n");
  return 0;
}
