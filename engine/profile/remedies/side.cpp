#include "side.h"

#include <ATen/ops/abs.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/item.h>
#include <ATen/ops/max.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <utility>

#include "facts.h"
#include "journal/checkpoint.h"
#include "tensor/memory.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

constexpr double rounding = 1e-5;  // largest difference, relative to the largest weight of a tensor

// Ends a fit after a checkpoint.
class EndsAtCheckpoint final : public LoopObserver {
 public:
  void committed(std::int64_t) override { throw SeenEnough(); }
};

// Ends a task after some steps of its durable loops, which makes the loop write a checkpoint. A task without such loops
// ends after a multiple of its passes.
class EndsAfterSteps final : public Observer, public RowJudge {
 public:
  bool wants_step(std::int64_t) override { return true; }
  void stepped(const StepView& view) override { steps_ = view.step; }
  std::optional<std::string> over() override {
    if (steps_ < compared_steps && ++passes_ < 20 * compared_steps) return std::nullopt;
    return "its steps are compared";
  }

 private:
  std::int64_t steps_ = 0, passes_ = 0;
};

// Runs a fit or a task on the device, which counts its peak from its beginning, and returns what `part` of the newest
// checkpoint in the folder has.
template <class Work>
TrainedSteps trained_by(const Work& work, const std::filesystem::path& folder, const std::string& part,
                        const std::string& device) {
  const bool counts = parse_device(device).is_cpu();
  const std::int64_t before = live_tensor_bytes();
  work();
  TrainedSteps trained;
  if (counts) trained.peak = tensor_memory().peak - before;
  if (const std::optional<Checkpoint> newest = CheckpointFolder::read_newest(folder / "checkpoints"))
    trained.weights = tensors_below(newest->tensors, part);
  return trained;
}

class FitSide final : public Side {
 public:
  FitSide(Variant fit, Say say, const RunLimits& limits)
      : fit_(std::move(fit)), say_(std::move(say)), limits_(limits), known_(limits.known) {}

  double speed() override {
    Profile profile = profile_of_variant(fit_, limits_.steps, say_, known_ ? &*known_ : nullptr);
    if (!known_ && !limits_.measures_all) known_ = profile.steps;
    // A short run has few validations, or none, so that what follows them counts in proportion, too.
    if (calls_at_validations_alone(fit_.plan)) {
      if (limits_.validation_functions) profile.steps.validation_functions = *limits_.validation_functions;
      profile.steps.callbacks = functions_at_validations(profile).per_step();
    }
    return samples_per_second(fit_, profile);
  }
  TrainedSteps trained() override {
    prepare_arithmetic(fit_.settings.threads);
    const OwnRhythm own(fit_.plan);
    const OwnBudget budget(fit_);
    fit_.plan.checkpoint = {.steps = compared_steps, .seconds = {}};
    const ScratchFolder folder;
    const Measured how{.stage = fit_.stage, .settings = fit_.settings, .say = say_, .beside = fit_.beside};
    const auto train = [&] { run_measured_fit(fit_.plan, how, folder, std::make_shared<EndsAtCheckpoint>()); };
    return trained_by(train, folder_of_fit(folder, how), "model.", fit_.settings.device);
  }

 private:
  Variant fit_;
  const Say say_;
  const RunLimits limits_;
  std::optional<StepFigures> known_;  // whose validations and checkpoints hold for further runs
};

class TaskSide final : public Side {
 public:
  TaskSide(Options task, RunSettings settings, Say say, const RunLimits& limits)
      : task_(std::move(task)), settings_(std::move(settings)), say_(std::move(say)), limits_(limits.steps) {}

  double speed() override { return 1 / short_profile(nullptr, how(), limits_).wall(); }
  TrainedSteps trained() override {
    prepare_arithmetic(settings_.threads);
    const ScratchFolder folder;
    const auto ends = std::make_shared<EndsAfterSteps>();
    return trained_by([&] { run_measured_task(how(), folder, {.observers = {ends}, .judges = {ends}}); }, folder.path(),
                      "saved.", settings_.device);
  }

 private:
  Measured how() const { return {.stage = task_, .settings = settings_, .say = say_}; }

  const Options task_;
  const RunSettings settings_;
  const Say say_;
  const StepLimits limits_;
};

// Whether the recipe's functions at validations may take another time with the change: a stack calls those of all its
// fits, and functions may compute with the data, or with a model of other threads, precision or layers.
bool may_touch_functions(const Remedy& remedy, const std::string& path) {
  constexpr std::array others{"validate=", "checkpoint=", "loader.", "batch=", "accumulate="};
  return remedy.stack > 0 || remedy.packs || std::ranges::any_of(remedy.set, [&](const std::string& change) {
           return std::ranges::none_of(others, [&](const char* one) { return change.starts_with(path + one); });
         });
}

bool same_bytes(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() &&
         std::memcmp(a.contiguous().const_data_ptr(), b.contiguous().const_data_ptr(), a.nbytes()) == 0;
}

bool same_to_rounding(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) return false;
  if (!a.is_floating_point()) return same_bytes(a, b);
  return at::allclose(a, b, 0, rounding * (a.numel() > 0 ? a.abs().max().item<double>() : 0));
}

}  // namespace

RunLimits limits_with(const Remedy& remedy, const std::string& path, RunLimits limits) {
  if (!limits.validation_functions || !may_touch_functions(remedy, path)) return limits;
  limits.validation_functions.reset();
  limits.known.reset();
  limits.measures_all = true;
  return limits;
}

std::unique_ptr<Side> side_of_fit(Variant fit, Say say, const RunLimits& limits) {
  return std::make_unique<FitSide>(std::move(fit), std::move(say), limits);
}

std::unique_ptr<Side> side_of_task(Options task, RunSettings settings, Say say, const RunLimits& limits) {
  return std::make_unique<TaskSide>(std::move(task), std::move(settings), std::move(say), limits);
}

std::string compared_weights(const NamedTensors& before, const NamedTensors& after) {
  if (before.empty()) return "not compared: no loop saves what it trains";
  bool same = before.size() == after.size(), close = same;
  for (const auto& [name, tensor] : before) {
    const auto found = after.find(name);
    if (found == after.end()) return "changes the result";
    same = same && same_bytes(tensor, found->second);
    close = close && same_to_rounding(tensor, found->second);
  }
  return same ? "same bytes" : close ? "same to rounding" : "changes the result";
}

}  // namespace trainlab
