#include "train/memory_prediction.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/words.h"
#include "objective/losses.h"
#include "tensor/dry_run.h"
#include "train/evaluator.h"
#include "train/group.h"

namespace trainlab {
namespace {

// The dry run has two steps, because state that the first step makes exists only in the second.
constexpr std::int64_t dry_steps = 2;

bool has_function(const Value& value) {
  if (value.is_list()) return std::ranges::any_of(value.list(), has_function);
  if (!value.is_map()) return false;
  if (value["@"] == Value("function")) return true;
  return std::ranges::any_of(value.map(), [](const auto& member) { return has_function(member.second); });
}

// Why the step cannot be taken on tensors without values; empty where it can.
std::string functions_of(const FitPlan& plan) {
  if (plan.step) return "the step is a function of the recipe";
  if (has_function(plan.options.get("loss"))) return "the loss is a function of the recipe";
  if (has_function(plan.options.get("model"))) return "the model has functions of the recipe";
  return "";
}

// The plan with all members that a training step uses, on a device: "meta" for tensors without values.
FitPlan step_plan(const FitPlan& plan, at::Device device) {
  FitPlan one(plan.options);
  one.seed = plan.seed;
  one.precision = plan.precision;
  one.device = device;
  one.data = plan.data;
  one.inputs = plan.inputs;
  one.model = plan.model;
  one.head = plan.head;
  one.head.device = one.device;
  one.loss = make_loss(plan.options, one.head);
  one.loader = plan.loader;
  one.length = plan.length;
  one.clip = plan.clip;
  one.accumulate = plan.accumulate;
  one.micro_batch = plan.micro_batch;
  one.recompute = plan.recompute;
  one.fuse_step = plan.fuse_step;
  one.chunk_loss = plan.chunk_loss;
  one.offload_optimizer = plan.offload_optimizer;
  one.offload_activations = plan.offload_activations;
  one.folder = plan.folder;
  return one;
}

// A batch of zeros, of the shapes that the loader gives. The loader's buffers are counted apart.
Batch batch_of_zeros(const FitPlan& plan, std::int64_t members) {
  Batch batch;
  batch.size = plan.loader.batch;
  // Two parts are enough, because further parts of a batch take no more memory than the second.
  if (plan.micro_batch > 0) batch.size = std::min(batch.size, 2 * plan.micro_batch);
  const auto made = [&](const Shape& sample, at::ScalarType type) {
    Shape shape = sample;
    shape.insert(shape.begin(), batch.size);
    if (members > 0) shape.insert(shape.begin(), members);
    return at::zeros(shape, at::device(plan.device).dtype(type));
  };
  for (const HeadColumn& column : plan.head.columns) batch.columns.push_back(made(column.shape, column.type));
  batch.index = made({}, at::kLong);
  return batch;
}

// Takes the steps of a step_plan(), of which `Heard` hears.
template <class Heard>
MemoryLedger ledger_of_steps(const FitPlan& plan, std::size_t rows) {
  const bool axis = rows > 1;
  const auto members = static_cast<std::int64_t>(axis ? rows : 0);
  std::vector<Key> keys;
  for (std::size_t row = 0; row < rows; ++row) keys.emplace_back(row);
  const Options& fit = plan.options;
  const std::vector<Options> optimizers(rows, fit.child("optim"));
  const std::vector<Options> averages(fit.given("ema") ? rows : 0, fit.given("ema") ? fit.child("ema") : fit);
  const std::vector<double> rates(rows, learning_rate(optimizers.front()));
  const std::vector<std::uint8_t> active(axis ? rows : 0, 1);
  const std::vector<std::int64_t> buffers = Loader(plan.data.train, plan.loader, keys, axis).buffer_bytes();

  MemoryRecorder recorder(tensor_memory());
  // The batches are not heard of, because those of a fit lie in the loader's buffers, which follow.
  const std::vector<Batch> batches(static_cast<std::size_t>(plan.accumulate), batch_of_zeros(plan, members));
  const Heard hearing(recorder);
  const Listening listening(recorder);
  std::vector<at::Tensor> prefetched;
  {
    const MemoryCharge charge(MemoryUse::batches);
    for (const std::int64_t bytes : buffers)
      prefetched.push_back(at::empty({bytes}, at::device(plan.device).dtype(at::kByte)));
  }
  Group group(plan, keys, optimizers, axis, averages);
  for (std::int64_t step = 0; step < dry_steps; ++step) {
    const Span span(Phase::step);
    group.step(batches, step, {.rates = rates, .active = active});
  }
  return recorder.ledger();
}

MemoryLedger estimated(const FitPlan& plan, std::size_t rows) {
  const MemoryEstimate one = estimate_memory(plan);
  const auto members = static_cast<double>(rows);
  MemoryLedger ledger;
  const auto set = [&ledger](MemoryKind kind, double bytes) {
    ledger.bytes[static_cast<std::size_t>(kind)] = static_cast<std::int64_t>(bytes);
  };
  set(MemoryKind::weights, members * one.weights);
  set(MemoryKind::gradients, members * one.gradients);
  set(MemoryKind::optimizer, members * one.optimizer);
  set(MemoryKind::activations, members * one.activations);
  set(MemoryKind::other, one.data);
  ledger.peak = std::accumulate(ledger.bytes.begin(), ledger.bytes.end(), std::int64_t{0});
  return ledger;
}

}  // namespace

MemoryPrediction predict_memory(const FitPlan& plan, std::size_t rows, const std::function<void(FitPlan&)>& change) {
  std::string why = functions_of(plan);
  if (why.empty()) {
    try {
      FitPlan dry = step_plan(plan, at::kMeta);
      if (change) change(dry);
      return {.ledger = ledger_of_steps<DryRun>(dry, rows), .estimated_because = ""};
    } catch (const std::exception&) {
      // An operator raises an error if it reads a value, or if it alone needs more memory than is free.
      why = "the step cannot be taken without values";
    }
  }
  return {.ledger = estimated(plan, rows), .estimated_because = std::move(why)};
}

std::int64_t kept_after_validation(const FitPlan& plan) {
  if (!plan.data.val || !plan.measures()) return 0;
  const auto weights = plan.parameter_count() * static_cast<std::int64_t>(c10::elementSize(plan.precision.weights));
  std::int64_t bytes = weights * ((plan.keep_best ? 1 : 0) + (plan.options.given("ema") ? 1 : 0));
  for (const std::int64_t buffer : evaluation_buffers(plan, *plan.data.val)) bytes += block_bytes(buffer);
  return bytes;
}

std::int64_t predicted_peak(const FitPlan& plan) {
  return predict_memory(plan).ledger.peak + kept_after_validation(plan);
}

std::optional<MemoryLedger> measured_memory(const FitPlan& plan) {
  try {
    return ledger_of_steps<MemoryListening>(step_plan(plan, plan.device), 1);
  } catch (const std::exception&) {
    return std::nullopt;  // such as a loss that refuses targets of zeros
  }
}

std::string category_text(const MemoryLedger& ledger, std::string (*text)(double)) {
  std::string all;
  for (std::size_t kind = 0; kind < memory_kinds; ++kind) {
    if (ledger.bytes[kind] == 0) continue;
    all += (all.empty() ? "" : ", ") + memory_kind_name(static_cast<MemoryKind>(kind)) + " " +
           text(static_cast<double>(ledger.bytes[kind]));
  }
  return all;
}

std::string layer_text(const MemoryLedger& ledger, std::string (*text)(double)) {
  constexpr std::size_t most = 3;
  std::vector<MemoryLedger::Layer> layers = ledger.layers;
  std::ranges::stable_sort(layers, std::greater(), &MemoryLedger::Layer::activations);
  if (layers.size() > most) layers.resize(most);
  return joined(layers, ", ", [&](const MemoryLedger::Layer& one) {
    return one.path + " " + text(static_cast<double>(one.activations));
  });
}

}  // namespace trainlab
