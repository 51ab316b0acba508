#include "auto_recompute.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "core/clock.h"
#include "core/trace.h"
#include "segment_search.h"
#include "tensor/dry_run.h"
#include "train/memory_prediction.h"

namespace trainlab {
namespace {

// A chain with more layers is divided into this number of stages of neighbouring layers, and bytes are rounded up to
// multiples of a slot, so that the search takes a fraction of a second.
constexpr std::size_t most_stages = 96;
constexpr std::int64_t memory_slots = 256;
constexpr int timed_passes = 3;
constexpr int tries = 7;  // dry runs of the bisection between the least and the largest number of slots

// Measures the layers of a chain in a forward pass: the time of each, and the bytes of all tensors at its end.
class ChainListener final : public TraceListener, public MemoryListener {
 public:
  explicit ChainListener(const std::vector<const Layer*>& chain)
      : seconds(chain.size(), std::numeric_limits<double>::infinity()), live(chain.size()) {
    for (std::size_t i = 0; i < chain.size(); ++i) numbers_.emplace(chain[i]->path, i);
  }
  void began(Phase phase, std::string_view name) override {
    if (phase == Phase::forward) before = now_;
    if (phase == Phase::layer && numbers_.contains(std::string(name))) began_ = steady_seconds();
  }
  void ended(Phase phase, std::string_view name) noexcept override {
    const double now = steady_seconds();
    if (phase != Phase::layer) return;
    const auto found = numbers_.find(std::string(name));
    if (found == numbers_.end()) return;
    seconds[found->second] = std::min(seconds[found->second], now - began_);
    live[found->second] = now_;
  }
  void allocated(const void*, std::int64_t bytes, MemoryUse) noexcept override { now_ += bytes; }
  void freed(const void*, std::int64_t bytes, MemoryUse) noexcept override { now_ -= bytes; }

  std::vector<double> seconds;     // time of each layer, the least of all passes
  std::vector<std::int64_t> live;  // bytes at the end of each layer
  std::int64_t before = 0;         // bytes before the first layer

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  double began_ = 0;
  std::int64_t now_ = 0;
};

// A training pass of the model on zeros.
at::Tensor pass_on_zeros(const FitPlan& plan, const ModelState& state, at::Device device) {
  std::vector<at::Tensor> columns;
  for (const std::size_t column : plan.inputs) {
    Shape shape = plan.head.columns[column].shape;
    shape.insert(shape.begin(), plan.loader.batch);
    columns.push_back(at::zeros(shape, at::device(device).dtype(plan.head.columns[column].type)));
  }
  const std::array keys = {Key(0)};
  return plan.model->forward(columns,
                             {.state = state, .training = true, .keys = keys, .leaves_out_last = plan.chunk_loss});
}

ModelState state_on(const FitPlan& plan, at::Device device) {
  const std::array keys = {Key(0)};
  return plan.model->initial_state(keys, plan.precision.weights, device, false);
}

std::vector<double> measured_seconds(const FitPlan& plan, const std::vector<const Layer*>& chain) {
  const at::NoGradGuard no_gradients;
  const ModelState state = state_on(plan, plan.device);
  ChainListener listener(chain);
  for (int pass = 0; pass < timed_passes; ++pass) {
    const Listening listening(listener);
    pass_on_zeros(plan, state, plan.device);
  }
  return listener.seconds;
}

// The arithmetic of each layer in place of its time.
std::vector<double> arithmetic(const std::vector<const Layer*>& chain) {
  std::vector<double> all;
  for (const Layer* layer : chain) all.push_back(layer->flops().forward);
  return all;
}

// The costs of the chain's layers, given their times. A layer keeps the bytes that exist at its end in addition to
// those at its beginning.
std::vector<ChainCost> costs_of(const FitPlan& plan, const std::vector<const Layer*>& chain,
                                const std::vector<double>& seconds) {
  ChainListener listener(chain);
  {
    const DryRun counting(listener);
    const ModelState state = state_on(plan, at::kMeta);
    const Listening listening(listener);
    pass_on_zeros(plan, state, at::kMeta);
  }
  const auto value = static_cast<std::int64_t>(c10::elementSize(plan.precision.compute));
  const auto bytes = [&](const Shape& sample) {
    return block_bytes(element_count(sample) * plan.loader.batch * value);
  };
  std::vector<ChainCost> costs;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const std::int64_t before = i == 0 ? listener.before : listener.live[i - 1];
    costs.push_back({.seconds = seconds[i],
                     .spared = is_product(*chain[i]) ? seconds[i] : 0,
                     .input = bytes(chain[i]->input_shape),
                     .kept = std::max<std::int64_t>(listener.live[i] - before, 0),
                     .backward_extra = bytes(chain[i]->input_shape)});
  }
  return costs;
}

// The chain as stages of neighbouring layers, at most `most_stages` of them.
struct Stages {
  std::size_t each;  // layers in a stage; the last stage may have fewer
  std::vector<ChainCost> costs;

  Stages(const std::vector<ChainCost>& layers) : each((layers.size() + most_stages - 1) / most_stages) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (i % each == 0) {
        costs.push_back(layers[i]);
      } else {
        costs.back().seconds += layers[i].seconds;
        costs.back().spared = layers[i].spared;
        costs.back().kept += layers[i].kept;
        costs.back().backward_extra = std::max(costs.back().backward_extra, layers[i].backward_extra);
      }
    }
  }

  std::vector<ChainSegment> layers(const std::vector<ChainSegment>& stages, std::size_t count) const {
    std::vector<ChainSegment> all;
    for (const ChainSegment& one : stages) {
      const std::size_t first = one.first * each, end = std::min((one.first + one.count) * each, count);
      all.push_back({.first = first, .count = end - first, .inner = layers(one.inner, count)});
    }
    return all;
  }
};

// Choice: predicts the memory of candidates, and keeps the fastest candidate that fits.
class Choice {
 public:
  Choice(FitPlan& plan, std::int64_t budget, Searching& searching)
      : plan_(plan), searching_(searching), budget_(budget) {}

  // Takes a candidate into account. Returns whether a training with its segments fits.
  bool offer(Recompute recompute, double seconds) {
    searching_.tries();
    plan_.recompute = recompute;
    const std::int64_t peak = predict_memory(plan_).memory.training();
    least_ = std::min(least_, peak);
    if (peak > budget_) return false;
    if (!found_ || seconds < seconds_) {
      best_ = std::move(recompute);
      seconds_ = seconds;
      peak_ = peak;
      found_ = true;
    }
    return true;
  }
  bool is_better(double seconds) const { return !found_ || seconds < seconds_; }

  bool found() const { return found_; }
  std::int64_t least() const { return least_; }
  RecomputePrice take(RecomputePrice price) {
    plan_.recompute = std::move(best_);
    price.peak = peak_;
    price.again = seconds_;
    return price;
  }

 private:
  FitPlan& plan_;
  Searching& searching_;
  std::int64_t budget_, least_ = std::numeric_limits<std::int64_t>::max(), peak_ = 0;
  Recompute best_;
  double seconds_ = 0;
  bool found_ = false;
};

}  // namespace

double forward_seconds(const FitPlan& plan) {
  double sum = 0;
  for (const double seconds : measured_seconds(plan, plan.model->chain())) sum += seconds;
  return sum;
}

RecomputePrice recompute_within(FitPlan& plan, std::int64_t budget, const Options& memory, bool nests,
                                Searching& searching) {
  const MemoryPrediction plain = predict_memory(plan);
  if (plain.is_least()) {
    throw memory.error("recompute", "\"auto\" cannot tell what a step keeps: " + plain.estimated_because)
        .hint("\"every 2\", or patterns of layers");
  }
  const std::int64_t peak = plain.memory.training();
  RecomputePrice price{.plain = peak, .peak = peak};
  if (price.plain <= budget) return price;
  std::vector<const Layer*> chain = plan.model->chain();
  if (plan.chunk_loss && chain.size() > 1) chain.pop_back();  // the last layer is computed with the loss
  const std::vector<double> times = nests ? measured_seconds(plan, chain) : arithmetic(chain);
  price.forward = std::accumulate(times.begin(), times.end(), 0.0);

  const Stages stages(costs_of(plan, chain, times));
  std::int64_t most = stages.costs.front().input;
  for (const ChainCost& stage : stages.costs) most += stage.kept + stage.input;
  const auto value = static_cast<std::int64_t>(c10::elementSize(plan.precision.compute));
  const std::int64_t output = block_bytes(element_count(chain.back()->output) * plan.loader.batch * value);
  const SegmentSearch search(stages.costs, output, most, memory_slots, nests);
  Choice choice(plan, budget, searching);
  // The search counts activations alone. Dry runs show how many bytes of activations fit into the budget.
  std::int64_t low = 0, high = memory_slots;
  const auto offered = [&](std::int64_t slot) {
    const auto found = search.plan(most * slot / memory_slots);
    if (!found) return false;
    if (!choice.is_better(found->seconds)) return true;
    return choice.offer({.segments = stages.layers(found->segments, chain.size())}, found->seconds);
  };
  while (low < memory_slots && !search.plan(most * low / memory_slots)) ++low;
  const bool fits = offered(low);
  for (int i = 0; fits && i < tries && high - low > 1; ++i) {
    const std::int64_t middle = (low + high) / 2;
    (offered(middle) ? low : high) = middle;
  }
  // The search does not count all bytes, so a plan with more slots may take the least memory.
  for (int i = 1; !fits && i <= tries; ++i) offered(low + (high - low) * i / tries);
  const auto offer_if_better = [&](Recompute other) {
    const double seconds = cost_again(chain, other.segments, times);
    if (choice.is_better(seconds)) choice.offer(std::move(other), seconds);
  };
  Recompute cheap = recompute_cheap(*plan.model);
  // The last layer is not in `chain` where it is computed with the loss.
  std::erase_if(cheap.segments, [&](const auto& one) { return one.first + one.count > chain.size(); });
  if (!cheap.empty()) offer_if_better(std::move(cheap));
  // For a number of segments, the shortest take least memory and time.
  for (const std::size_t size : segment_sizes(*plan.model)) offer_if_better(recompute_every(*plan.model, size));
  if (choice.found()) return choice.take(price);
  plan.recompute = {};
  price.fits = false;
  price.peak = choice.least();
  return price;
}

}  // namespace trainlab
