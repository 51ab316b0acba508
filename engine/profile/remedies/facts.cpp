#include "facts.h"

#include <algorithm>

#include "core/words.h"
#include "machine/product_times.h"
#include "model/layer.h"
#include "tensor/types.h"
#include "train/memory_prediction.h"
#include "train/stacking.h"

namespace trainlab {

namespace {

constexpr std::int64_t few_fits = 8;  // of a stack where none of the sizes is known to save time

bool calls(const FitPlan& plan, const char* callback) {
  return plan.options.given("on") && plan.options.child("on").given(callback);
}

// FitFacts::decided_by_validations.
std::string decided_by_validations(const FitPlan& plan, const StageOfTraining& stage) {
  const Options& fit = plan.options;
  std::vector<std::string> all;
  if (plan.keep_best) all.push_back("which weights are kept");
  if (fit.given("stop")) all.push_back("when a stop rule ends the training");
  if (stage.validations_decide) all.push_back("which trials go on");
  if (fit.given("schedule") && follows_validations(fit.registry(), fit.get("schedule")))
    all.push_back("when the rate falls");
  if (calls(plan, "validate")) all.push_back("when on.validate is called");
  return listed(all, "and");
}

bool has_stop_function(const FitPlan& plan) {
  return std::ranges::any_of(plan.options.elements("stop"),
                             [](const Options::Element& element) { return element.function != nullptr; });
}

// Whether the functions take a notable part of the time.
bool is_notable(const Rhythm& functions, const Profile& profile) {
  return functions.per_step() >= host_bound * profile.wall();
}

bool decodes_files(const Part& part) {
  return std::ranges::any_of(part.data->columns, [&](const Column& column) {
    return column.source && part.size() > 0 && !column.source->place(part.row(0)).path.empty();
  });
}

bool has_convolutions(const Layer& layer) {
  return layer.traits.is_convolution ||
         std::ranges::any_of(layer.children(), [](const Layer* child) { return has_convolutions(*child); });
}

// FitFacts::keeps_much.
bool keeps_much(const FitPlan& plan, const MemoryPrediction* predicted) {
  if (!plan.device.is_cpu() || !predicted || predicted->is_least()) return false;
  const MemoryLedger& step = predicted->memory.ledger;
  return 2 * step.of(MemoryKind::activations) >= step.peak && 4 * predicted->memory.training() >= room_of(plan);
}

}  // namespace

bool calls_at_validations_alone(const FitPlan& plan) {
  const bool has_any = calls(plan, "validate") || has_stop_function(plan);
  return plan.data.val && plan.measures() && has_any && !calls(plan, "step") && !calls(plan, "epoch");
}

Rhythm functions_at_validations(const Profile& profile) {
  return {.seconds = profile.steps.validation_functions, .every = profile.validation.every};
}

FitFacts facts_of(const Profile& profile, const FitPlan& plan, const StageOfTraining& stage, int threads) {
  const Options& fit = plan.options;
  const Rhythm functions_at_checkpoints{.seconds = profile.steps.commit_functions, .every = profile.checkpoint.every};
  const std::int64_t stack = plan.step ? 1 : stack_size(plan, threads);
  return {.batch = plan.loader.batch,
          .accumulate = plan.accumulate,
          .samples = plan.data.train.size(),
          .loader_threads = plan.loader.threads,
          .prefetch = plan.loader.prefetch,
          .validate_every = plan.validate_every,
          .decided_by_validations = decided_by_validations(plan, stage),
          .functions_at_validations =
              calls_at_validations_alone(plan) && is_notable(functions_at_validations(profile), profile),
          .checkpoint_every = profile.checkpoint.every.value_or(0),
          .calls_at_checkpoints = calls(plan, "checkpoint"),
          .functions_at_checkpoints = calls(plan, "checkpoint") && is_notable(functions_at_checkpoints, profile),
          .has_metrics = !plan.metrics.empty(),
          .has_transforms = !plan.data.train.transforms.empty(),
          .is_double = plan.precision.weights == at::kDouble,
          .drops_last = plan.loader.drop_last,
          .decodes_files = decodes_files(plan.data.train),
          .has_convolutions = plan.model && has_convolutions(plan.model->root()),
          .model = fit.is_entry("model") ? std::optional<ModelChanges>(fit) : std::nullopt,
          .keeps_much = keeps_much(plan, stage.predicted),
          .chain = plan.model ? std::ssize(plan.model->chain()) : 1,
          .stack = stack > 1 ? stack : few_fits,
          .why_alone = why_alone(plan),
          .bfloat16_time = plan.device.is_cpu() && plan.precision.compute == at::kFloat
                               ? std::optional(relative_product_time(at::kBFloat16))
                               : std::nullopt,
          .own_time = plan.device.is_cpu() && plan.precision.is_mixed()
                          ? std::optional(relative_product_time(plan.precision.compute))
                          : std::nullopt};
}

}  // namespace trainlab
