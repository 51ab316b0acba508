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

// FitFacts::decided_by_validations.
std::string decided_by_validations(const FitPlan& plan, const StageOfTraining& stage) {
  const Options& fit = plan.options;
  std::vector<std::string> all;
  if (plan.keep_best) all.push_back("which weights are kept");
  if (fit.given("stop")) all.push_back("when a stop rule ends the training");
  if (stage.validations_decide) all.push_back("which trials go on");
  if (fit.given("schedule") && follows_validations(fit.registry(), fit.get("schedule")))
    all.push_back("when the rate falls");
  if (fit.given("on") && fit.child("on").given("validate")) all.push_back("when on.validate is called");
  return listed(all, "and");
}

// FitFacts::validate_call. The time between steps belongs to on.validate where no other function is called there.
std::optional<double> validate_call(const Profile& profile, const FitPlan& plan) {
  constexpr double notable = 0.15;  // as for the verdict `host`
  if (!plan.options.given("on") || profile.steps.callbacks < notable * profile.wall()) return std::nullopt;
  const Options on = plan.options.child("on");
  if (!on.given("validate") || on.given("step") || on.given("epoch")) return std::nullopt;
  return profile.steps.callbacks * static_cast<double>(plan.validate_every);
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

FitFacts facts_of(const Profile& profile, const FitPlan& plan, const StageOfTraining& stage, int threads) {
  const Options& fit = plan.options;
  const std::int64_t stack = plan.step ? 1 : stack_size(plan, threads);
  return {.batch = plan.loader.batch,
          .accumulate = plan.accumulate,
          .samples = plan.data.train.size(),
          .loader_threads = plan.loader.threads,
          .prefetch = plan.loader.prefetch,
          .validate_every = plan.validate_every,
          .decided_by_validations = decided_by_validations(plan, stage),
          .validate_call = validate_call(profile, plan),
          .checkpoint_every = profile.checkpoint.every.value_or(0),
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
