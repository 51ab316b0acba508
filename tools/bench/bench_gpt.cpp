// Forward and backward pass of nanoGPT's character model on its CPU setting (4 layers, 4 heads, width 128, context 64,
// batch 12), declared as a recipe would. Usage: bench_gpt THREADS STEPS; prints the median step in milliseconds.
// The same net in PyTorch: peer_gpt.py.
#include <ATen/Parallel.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "core/clock.h"
#include "model/model.h"
#include "tensor/random.h"

using namespace trainlab;

namespace {

constexpr std::int64_t vocabulary = 65, context = 64, width = 128, heads = 4, layers = 4, batch = 12;

Value entry(const Registry& registry, const std::string& name, Value::List positional = {}, Value::Map named = {}) {
  Value::Map map = registry.assemble(*registry.find("nn." + name), std::move(positional), std::move(named));
  map.emplace("@", "nn." + name);
  return map;
}

Value spec_of(const Registry& r) {
  const Value block = entry(r, "TransformerEncoderLayer", {heads}, {{"causal", true}, {"bias", false}});
  return entry(
      r, "Sequential",
      {entry(r, "Shared", {"tokens", entry(r, "Embedding", {vocabulary, width})}), entry(r, "PositionalEmbedding"),
       entry(r, "Repeat", {layers, block}), entry(r, "LayerNorm", {}, {{"bias", false}}),
       entry(r, "Shared", {"tokens", entry(r, "Linear", {vocabulary}, {{"bias", false}})})});
}

at::Tensor tokens(Key key) {
  const at::Tensor uniform = at::empty({batch, context});
  fill_uniform(uniform, key, 0, vocabulary);
  return uniform.to(at::kLong);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: bench_gpt THREADS STEPS\n", stderr), 2;
  prepare_arithmetic(std::atoi(argv[1]));
  Registry registry;
  register_model(registry);
  const auto spec = std::make_shared<Spec>(Spec{registry.check(spec_of(registry), "model"), {}});
  const Model model(Options(registry, spec, "model"), Signals{{"x", {.shape = {context}, .integers = true}}});
  const std::array keys = {Key(1)};
  const ModelState state = model.initial_state(keys, at::kFloat, at::kCPU, false);
  std::vector<double> times;
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    const Key key = Key(2).fold(static_cast<std::uint64_t>(i));
    const at::Tensor x = tokens(key.fold("x")), y = tokens(key.fold("y"));
    const double begin = steady_seconds();
    const at::Tensor out = model.forward(x, {state, true, keys});
    at::cross_entropy_loss(out.view({batch * context, vocabulary}), y.view({-1})).backward();
    times.push_back(steady_seconds() - begin);
    for (const at::Tensor& parameter : state.parameters) parameter.mutable_grad().reset();
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  std::printf("%.3f\n", 1e3 * times[times.size() / 2]);
}
