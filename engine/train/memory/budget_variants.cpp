#include "budget_variants.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "divisors.h"
#include "machine/product_times.h"
#include "offload_price.h"
#include "optim/optimizer.h"
#include "plan/fit_plan_parts.h"
#include "tensor/dry_run.h"
#include "tensor/file_memory.h"
#include "tensor/memory.h"
#include "training_buffers.h"

namespace trainlab {
namespace {

// Estimated prices, as shares of the time of a step; memory.fuse_step and memory.chunk_loss have none to speak of.
// Where all candidates give the same bytes, a file has a measured price instead; else a measured time would decide
// about the numbers.
// To write a byte to a disk and to read it again takes about as long as this arithmetic.
constexpr double flops_of_a_moved_byte = 200;
// A smaller state makes the update of a weight longer by about this arithmetic, and a step by at most this share, which
// counts where batches are small and the step waits for the memory (tools/bench/run memory).
struct StatePrice {
  double flops_of_a_weight, most;
};
constexpr StatePrice bfloat16_state = {.flops_of_a_weight = 50, .most = 0.1};
constexpr StatePrice state_of_8_bits = {.flops_of_a_weight = 350, .most = 0.9};
constexpr double price_of_waiting = 0.1;  // for batches that no thread makes ahead
constexpr double price_of_half_a_batch = 0.05;
// On a processor that is faster with a type, small products are slower with it, because of the casts of their factors:
// a perceptron's step took 1.5 to 1.7 times as long with products of 0.2 to 0.7 MFLOP, as long with 3 MFLOP, and 0.8
// times as long with 8 MFLOP.
constexpr double flops_of_a_faster_product = 4e6;
constexpr double price_of_faster_products = -0.2, price_of_small_products = 0.3;
// A processor is called faster with a type where a product takes less than this share of the time of float32: the
// choice must not depend on how busy the machine is.
constexpr double clearly_faster = 0.8;

constexpr std::array<const char*, 3> allow_names = {"exact", "close", "any"};

using Variants = std::vector<BudgetVariant>;

// The FLOPs of a step; where nobody knows those of the layers, the usual 6 for each weight and sample.
double step_flops(const FitPlan& plan) {
  const double stated = plan.sample_flops();
  const double of_sample = stated > 0 ? stated : 6.0 * static_cast<double>(plan.parameter_count());
  return std::max(of_sample * plan.step_samples(), 1.0);
}

// The tensors that may lie in a file, with which a training has the same bits: the optimizer's state, activations, or
// both.
struct InFile {
  std::int64_t state = 0, activations;  // their bytes; 0 for what cannot, or is too small

  InFile(const FitPlan& plan, std::int64_t of_activations) : activations(of_activations) {
    if (!leaves_open(plan, "offload")) {
      activations = 0;
      return;
    }
    if (why_not_offloaded(plan).empty()) state = plan.state_bytes;
    if (state < smallest_in_file) state = 0;
    if (activations < smallest_in_file) activations = 0;
  }
};

Variants files(const InFile& in_file, double byte_price, std::int64_t accumulate) {
  const auto price = [byte_price](std::int64_t bytes) { return byte_price * static_cast<double>(bytes); };
  const bool has_state = in_file.state > 0, has_activations = in_file.activations > 0;
  Variants all;
  if (has_state) all.push_back({.lines = {{"memory.offload", "optimizer"}}, .price = price(in_file.state)});
  if (has_activations) {
    all.push_back({.lines = {{"memory.offload", "activations"}},
                   .price = price(in_file.activations * accumulate),
                   .is_lean = !has_state});
  }
  if (has_state && has_activations) {
    all.push_back(
        {.lines = {{"memory.offload", Value::List{"activations", "optimizer"}}}, .price = all[0].price + all[1].price});
  }
  return all;
}

double price_of(const StatePrice& state, const FitPlan& plan) {
  return std::min(state.flops_of_a_weight * static_cast<double>(plan.parameter_count()) / step_flops(plan), state.most);
}

// Forms of the optimizer's state.
Variants states(const FitPlan& plan, Allow allow) {
  const Options optimizer = unwrapped(plan.options.child("optim"));
  if (!optimizer.entry().find("state") || optimizer.given("state")) return {};
  const std::string path = option_path_of(plan.options.get("optim"), "state");
  const bool may_be_bytes = allow >= Allow::any;
  Variants all{{.lines = {{path, "bfloat16"}},
                .price = price_of(bfloat16_state, plan),
                .allow = Allow::close,
                .is_lean = !may_be_bytes}};
  if (may_be_bytes)
    all.push_back({.lines = {{path, "8bit"}}, .price = price_of(state_of_8_bits, plan), .allow = Allow::any});
  return all;
}

// The FLOPs of the forward pass for each matrix of weights, in the mean.
double product_flops(const FitPlan& plan) {
  const auto is_matrix = [](const ParameterInfo& one) { return one.shape.size() > 1; };
  const auto products = std::max<std::int64_t>(std::ranges::count_if(plan.model->parameters(), is_matrix), 1);
  return step_flops(plan) / static_cast<double>(3 * plan.accumulate * products);
}

// Whether large products in bfloat16 are clearly faster than in float32 on this processor. No, where this was never
// measured and the limit of memory leaves no room for measuring.
bool is_bfloat16_faster() {
  try {
    return relative_product_time(at::kBFloat16) < clearly_faster;
  } catch (const Error& error) {
    if (lacks_room(error)) return false;
    throw;
  }
}

// Products in bfloat16, where this processor is faster with large ones.
Variants precisions(const FitPlan& plan) {
  if (plan.options.given("precision") || !is_bfloat16_faster()) return {};
  const bool is_faster = product_flops(plan) >= flops_of_a_faster_product;
  return {{.lines = {{"precision", "bfloat16"}},
           .price = is_faster ? price_of_faster_products : price_of_small_products,
           .allow = Allow::close}};
}

// The bytes of the loader's buffers with other options.
std::int64_t buffer_bytes(const FitPlan& plan, const LoaderOptions& options, std::int64_t accumulate) {
  return block_bytes(training_buffers(plan, options, accumulate, {Key(0)}));
}

// Batches that are made when they are needed, where the buffers of those that are made ahead matter.
Variants loaders(const FitPlan& plan, std::int64_t training) {
  if (plan.loader.threads == 0 || says_threads(plan)) return {};
  LoaderOptions without = plan.loader;
  without.threads = 0;
  const std::int64_t saved =
      buffer_bytes(plan, plan.loader, plan.accumulate) - buffer_bytes(plan, without, plan.accumulate);
  if (20 * saved < training) return {};
  return {{.lines = {{"loader.threads", 0}}, .price = price_of_waiting}};
}

// Smaller batches with the same effective batch, each at least twice as small as the one before.
Variants batches(const FitPlan& plan) {
  Variants all;
  if (plan.loader.drop_last) return all;  // another size would leave out other samples
  if (!plan.loss->is_divisible()) return all;
  const std::int64_t whole = plan.loader.batch;
  std::int64_t least = 2;
  for (const std::int64_t parts : divisors(whole)) {
    if (parts < least) continue;
    least = 2 * parts;
    all.push_back({.lines = {{"batch", whole / parts}, {"accumulate", plan.accumulate * parts}},
                   .price = price_of_half_a_batch * std::log2(static_cast<double>(parts)),
                   .allow = Allow::any,
                   .is_lean = false});
  }
  // A smaller batch has fewer activations, but the loader's buffers may have room for more samples.
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = all.size(); i > 0; --i) {
    LoaderOptions smaller = plan.loader;
    smaller.batch = all[i - 1].lines.at("batch").integer();
    const std::int64_t bytes = buffer_bytes(plan, smaller, all[i - 1].lines.at("accumulate").integer());
    all[i - 1].is_lean = bytes < fewest;
    fewest = std::min(fewest, bytes);
  }
  return all;
}

}  // namespace

Allow allow_of(const Options& memory) {
  const auto found = std::ranges::find(allow_names, memory.string("allow"));
  return static_cast<Allow>(found - allow_names.begin());
}

const char* name_of(Allow allow) { return allow_names[static_cast<std::size_t>(allow)]; }

bool leaves_open(const FitPlan& plan, const char* option) {
  return !plan.options.given("memory") || !plan.options.child("memory").given(option);
}

bool says_threads(const FitPlan& plan) {
  return plan.options.given("loader") && plan.options.child("loader").given("threads");
}

bool can_chunk(const FitPlan& plan) { return leaves_open(plan, "chunk_loss") && why_not_chunked(plan).empty(); }

double estimated_byte_price(const FitPlan& plan) { return flops_of_a_moved_byte / step_flops(plan); }

double byte_price_of(const FitPlan& plan, Allow allow, std::int64_t activations) {
  const InFile in_file(plan, activations);
  const bool same_bytes = allow == Allow::exact && !can_chunk(plan);
  if (!same_bytes || (in_file.state == 0 && in_file.activations == 0)) return estimated_byte_price(plan);
  return offload_price(plan, std::max(in_file.state, in_file.activations));
}

std::vector<BudgetVariant> variants(const FitPlan& plan, Allow allow, const TrainingMemory& plain,
                                    std::optional<double> byte_price) {
  Variants all(1);
  // `none_is_lean`: whether less memory may be taken without any of the ways.
  const auto multiply = [&all](const Variants& ways, bool none_is_lean) {
    const std::size_t before = all.size();
    for (const BudgetVariant& way : ways) {
      for (std::size_t i = 0; i < before; ++i) {
        BudgetVariant both = all[i];
        both.lines.insert(way.lines.begin(), way.lines.end());
        both.price += way.price;
        both.allow = std::max(both.allow, way.allow);
        both.is_lean = both.is_lean && way.is_lean;
        all.push_back(std::move(both));
      }
    }
    if (ways.empty() || none_is_lean) return;
    for (std::size_t i = 0; i < before; ++i) all[i].is_lean = false;
  };
  multiply(loaders(plan, plain.training()), false);
  // A state in a file takes no memory, but for what is too small for the file. Activations are in a file or computed
  // again, and computed again or made for smaller batches.
  bool has_state_in_file = false;
  if (byte_price) {
    const InFile in_file(plan, plain.ledger.of(MemoryKind::activations));
    has_state_in_file = in_file.state > 0;
    multiply(files(in_file, *byte_price, plan.accumulate), !has_state_in_file);
  }
  if (allow >= Allow::close) {
    multiply(states(plan, allow), has_state_in_file);
    multiply(precisions(plan), true);
  }
  if (allow >= Allow::any) multiply(batches(plan), true);
  std::ranges::stable_sort(all, {}, &BudgetVariant::price);
  return all;
}

}  // namespace trainlab
