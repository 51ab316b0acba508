#include "train/memory_prediction.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/duration.h"
#include "core/words.h"
#include "model/layer_listener.h"
#include "objective/losses.h"
#include "step/batch_view.h"
#include "tensor/dry_run.h"
#include "tensor/free_memory.h"
#include "tensor/memory.h"
#include "train/evaluator.h"
#include "train/fit.h"
#include "train/group.h"
#include "train/memory_recorder.h"
#include "training_buffers.h"

namespace trainlab {
namespace {

// The dry run has two steps, because state that the first step makes exists only in the second.
constexpr std::int64_t dry_steps = 2;

// Further micro-batches of a step take no more memory than the second, but for their buffers.
constexpr std::int64_t dry_micro_batches = 2;

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
  one.validate_every = plan.validate_every;
  one.clip = plan.clip;
  one.accumulate = plan.accumulate;
  one.micro_batch = plan.micro_batch;
  one.recompute = plan.recompute;
  one.rule_numbers = plan.rule_numbers;
  one.fuse_step = plan.fuse_step;
  one.chunk_loss = plan.chunk_loss;
  one.offload_optimizer = plan.offload_optimizer;
  one.offload_activations = plan.offload_activations;
  one.folder = plan.folder;
  one.budget = plan.budget;
  one.keep_best = plan.keep_best;
  return one;
}

// A batch of zeros, of the shapes that the loader gives. The loader's buffers are counted apart.
Batch batch_of_zeros(const FitPlan& plan, std::int64_t members, std::int64_t samples) {
  Batch batch;
  batch.size = samples;
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

std::int64_t step_samples(const FitPlan& plan) {
  return plan.micro_batch > 0 ? std::min(plan.loader.batch, dry_micro_batches * plan.micro_batch) : plan.loader.batch;
}

// The bytes of all tensors, now and at most, beside the recorder that divides them.
class Count final : public MemoryListener {
 public:
  Count(MemoryListener& recorder, std::int64_t before) : recorder_(recorder), now_(before) {}

  void allocated(const void* block, std::int64_t bytes, MemoryUse use) noexcept override {
    now_ += bytes;
    peak_ = std::max(peak_, now_);
    recorder_.allocated(block, bytes, use);
  }
  void freed(const void* block, std::int64_t bytes, MemoryUse use) noexcept override {
    now_ -= bytes;
    recorder_.freed(block, bytes, use);
  }
  std::int64_t now() const { return now_; }
  // The bytes that `work` takes at most beside those that are there when it begins.
  template <class Work>
  std::int64_t of(const Work& work) {
    const std::int64_t before = peak_ = now_;
    work();
    return peak_ - before;
  }

 private:
  MemoryListener& recorder_;
  std::int64_t now_, peak_ = 0;
};

// A copy of the weights and running statistics, tensor by tensor.
std::int64_t weight_bytes(const FitPlan& plan) {
  std::int64_t bytes = 0;
  const auto add = [&](const Model& model) {
    const auto add_all = [&](const auto& infos) {
      for (const auto& one : infos) {
        const auto value = static_cast<std::int64_t>(c10::elementSize(one.stored_in(plan.precision.weights)));
        bytes += block_bytes(element_count(one.shape) * value);
      }
    };
    add_all(model.parameters());
    add_all(model.buffers());
  };
  if (plan.model) add(*plan.model);
  for (const FitPlan::StepModel& one : plan.step_models) add(*one.model);
  return bytes;
}

// Averages in the form in which they are validated, which the first validation leaves behind.
std::int64_t bytes_of_averages(const FitPlan& plan) {
  const bool has_average = plan.options.given("ema") || (!plan.step && keeps_average(plan.options.child("optim")));
  return has_average ? weight_bytes(plan) : 0;
}

std::int64_t bytes_of_best(const FitPlan& plan) { return plan.keep_best ? weight_bytes(plan) : 0; }

// The bytes that the stop rules of a member keep of gradients.
std::int64_t bytes_of_rules(const FitPlan& plan) {
  std::int64_t bytes = 0;
  for (const ParameterInfo& one : plan.model->parameters()) {
    if (one.trains) bytes += plan.rule_numbers * block_bytes(element_count(one.shape) * std::int64_t{sizeof(float)});
  }
  return bytes;
}

CompanyBytes company_bytes(const FitPlan& plan, std::size_t rows) {
  const std::int64_t of_rules = static_cast<std::int64_t>(rows) * bytes_of_rules(plan);
  CompanyBytes all{.in_step = of_rules, .in_pass = 0, .between = of_rules};
  for (const FitAddition& addition : additions_of(plan.options)) {
    if (!addition.bytes) continue;
    const CompanyBytes one = addition.bytes(plan, rows);
    all.in_step += one.in_step;
    all.in_pass += one.in_pass;
    all.between += one.between;
  }
  return all;
}

// Takes the memory that the gradient passes of the company take.
class CompanyPass final : public GradientPass {
 public:
  CompanyPass(std::int64_t bytes, at::Device device) : bytes_(bytes), device_(device) {}
  std::string_view name() const override { return "company"; }
  Verdict apply(std::span<at::Tensor>, const StepFacts&) override {
    at::empty({bytes_}, at::device(device_).dtype(at::kByte));
    return {};
  }
  bool may_skip() const override { return false; }

 private:
  std::int64_t bytes_;
  at::Device device_;
};

std::int64_t bytes_of_steps(const FitPlan& plan, std::int64_t step, std::size_t rows) {
  if (!plan.data.val || !plan.measures()) return step;
  const std::int64_t copies = bytes_of_best(plan) + bytes_of_averages(plan);
  return step + static_cast<std::int64_t>(rows) * copies +
         block_bytes(evaluation_buffers(plan, *plan.data.val, validations_of(plan)));
}

// The most bytes in evaluations of the validation and of the test part, between two steps, where the company of the fit
// holds `of_company`. `state`: what is validated of a group that has taken steps, which `count` counts already, as far
// as it is a copy. An evaluation that would pass the limit goes in parts, as Evaluator makes them.
std::int64_t bytes_of_measures(const FitPlan& plan, const ModelState& state, Count& count, std::int64_t of_company) {
  const std::int64_t limit = memory_limit(plan);
  const auto one_pass = [&](std::int64_t samples) {
    const Batch batch = batch_of_zeros(plan, state.members, samples);
    return count.of([&] {
      const at::NoGradGuard no_gradients;
      std::vector<at::Tensor> moved;
      const BatchView view = view_of(plan, batch, state.members, Key(0), {}, moved);
      const at::Tensor out =
          plan.model->forward(model_inputs(plan, view), {.state = state, .training = false, .keys = {}});
      (*plan.loss)(out, view);
    });
  };
  const std::int64_t rows = std::max<std::int64_t>(state.members, 1);
  std::int64_t most = 0;
  const auto evaluated = [&](const std::optional<Part>& part, std::int64_t runs) {
    if (!part) return;
    const std::int64_t kept =
        count.now() + of_company + rows * bytes_of_best(plan) + block_bytes(evaluation_buffers(plan, *part, runs));
    for (std::int64_t samples = evaluation_batch(plan, *part);; samples = (samples + 1) / 2) {
      try {
        const MemoryBudget budget(plan.device.is_meta() ? 0 : plan.budget);  // a real pass takes no more, too
        const std::int64_t bytes = kept + one_pass(samples);
        if (limit > 0 && samples > 1 && bytes > limit) continue;
        most = std::max(most, bytes);
        break;
      } catch (const TensorMemoryLimit&) {
        if (samples == 1) throw;
      }
    }
  };
  evaluated(plan.data.val, validations_of(plan));
  evaluated(plan.data.test, 1);
  return most;
}

// Takes the steps of a step_plan(), and evaluations, of which `Heard` hears.
template <class Heard>
TrainingMemory memory_of_steps(const FitPlan& plan, std::size_t rows) {
  const bool axis = rows > 1;
  const auto members = static_cast<std::int64_t>(axis ? rows : 0);
  std::vector<Key> keys;
  for (std::size_t row = 0; row < rows; ++row) keys.emplace_back(row);
  const Options& fit = plan.options;
  const std::vector<Options> optimizers(rows, fit.child("optim"));
  const std::vector<Options> averages(fit.given("ema") ? rows : 0, fit.given("ema") ? fit.child("ema") : fit);
  const std::vector<double> rates(rows, learning_rate(optimizers.front()));
  const std::vector<std::uint8_t> active(axis ? rows : 0, 1);
  const std::vector<std::int64_t> buffers = training_buffers(plan, plan.loader, plan.accumulate, keys);

  // The steps are none of the fit: a watch that samples the fit's layers must not take them for its own.
  const NoLayerListener unheard;
  MemoryRecorder recorder(tensor_memory());
  Count count(recorder, live_tensor_bytes());
  // The batches are not heard of, because those of a fit lie in the loader's buffers, which follow.
  const std::vector<Batch> batches(static_cast<std::size_t>(std::min(plan.accumulate, dry_micro_batches)),
                                   batch_of_zeros(plan, members, step_samples(plan)));
  const Heard hearing(count);
  const Listening listening(recorder);
  std::vector<at::Tensor> prefetched;
  {
    const MemoryCharge charge(MemoryUse::batches);
    for (const std::int64_t bytes : buffers)
      prefetched.push_back(at::empty({bytes}, at::device(plan.device).dtype(at::kByte)));
  }
  const CompanyBytes company = company_bytes(plan, rows);
  at::Tensor held = at::empty({company.in_step}, at::device(plan.device).dtype(at::kByte));
  Group group(plan, keys, optimizers, axis, averages);
  if (company.in_pass > 0) {
    const std::shared_ptr<GradientPass> pass = std::make_shared<CompanyPass>(company.in_pass, plan.device);
    group.add_passes({&pass, 1}, std::vector<std::size_t>(rows));
  }
  for (std::int64_t step = 0; step < dry_steps; ++step) {
    const Span span(Phase::step);
    group.step(batches, step, {.rates = rates, .active = active});
  }
  held.reset();
  TrainingMemory memory{.ledger = recorder.ledger()};
  memory.in_steps = bytes_of_steps(plan, memory.step(), rows);
  // A step that went in parts would take more than the limit if it were taken whole; how much more is not known.
  if (group.micro_batch().samples != plan.micro_batch)
    memory.in_steps = std::max(memory.in_steps, memory_limit(plan) + 1);
  memory.in_measures = bytes_of_measures(plan, group.state(), count, company.between);
  memory.batches = block_bytes(buffers);
  if (plan.data.val && plan.measures())
    memory.batches += block_bytes(evaluation_buffers(plan, *plan.data.val, validations_of(plan)));
  return memory;
}

// The memory that a training takes in any case. Activations are left out, because what functions of the recipe make,
// and for how long its tensors stay until Lua's garbage is collected, is known from no plan. Tensors that are there
// already are left out too, because some of them may be such garbage.
TrainingMemory least_memory(const FitPlan& plan, std::size_t rows) {
  const MemoryEstimate one = estimate_memory(plan);
  const auto members = static_cast<double>(rows);
  MemoryLedger ledger;
  const auto set = [&ledger](MemoryKind kind, double bytes) {
    ledger.bytes[static_cast<std::size_t>(kind)] = static_cast<std::int64_t>(bytes);
  };
  set(MemoryKind::weights, members * one.weights);
  if (!plan.fuse_step) set(MemoryKind::gradients, members * one.gradients);  // else never all at a time
  set(MemoryKind::optimizer, members * one.optimizer);
  const std::int64_t batches =
      block_bytes(training_buffers(plan, plan.loader, plan.accumulate, std::vector<Key>(rows, Key(0))));
  set(MemoryKind::batches, static_cast<double>(batches));
  ledger.peak = std::accumulate(ledger.bytes.begin(), ledger.bytes.end(), std::int64_t{0});
  TrainingMemory memory{.ledger = ledger};
  memory.in_steps = bytes_of_steps(plan, memory.step(), rows);
  memory.batches = batches;
  return memory;
}

}  // namespace

std::int64_t memory_limit(std::int64_t budget) {
  const MemoryBudget guard(budget);
  return tensor_memory_limit();
}

std::int64_t memory_limit(const FitPlan& plan) { return memory_limit(plan.budget); }

std::int64_t room_of(const FitPlan& plan) {
  const std::int64_t limit = memory_limit(plan);
  return limit > 0 ? limit : live_tensor_bytes() + free_tensor_memory();
}

MemoryPrediction predict_memory(const FitPlan& plan, std::size_t rows, const std::function<void(FitPlan&)>& change) {
  std::string why = functions_of(plan);
  if (why.empty()) {
    const NoMemoryBudget own_tensors;  // of operators that run on the CPU
    try {
      FitPlan dry = step_plan(plan, at::kMeta);
      if (change) change(dry);
      return {.memory = memory_of_steps<DryRun>(dry, rows), .estimated_because = ""};
    } catch (const std::exception&) {
      // An operator raises an error if it reads a value, or if it alone needs more memory than is free.
      why = "the step cannot be taken without values";
    }
  }
  return {.memory = least_memory(plan, rows), .estimated_because = std::move(why)};
}

bool goes_in_parts(const FitPlan& plan) { return !plan.step && !plan.fuse_step && plan.loss->is_divisible(); }

MemoryPrediction predict_memory_in(bool in_parts, const FitPlan& plan, std::size_t rows) {
  return predict_memory(plan, rows, [in_parts](FitPlan& dry) {
    if (in_parts) dry.micro_batch = 1;
  });
}

std::optional<TrainingMemory> measured_memory(const FitPlan& plan) {
  try {
    return memory_of_steps<MemoryListening>(step_plan(plan, plan.device), 1);
  } catch (const TensorMemoryLimit&) {
    return TrainingMemory{.ledger = {}, .in_steps = memory_limit(plan) + 1};
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
