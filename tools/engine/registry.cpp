#include "registry.h"

#include "bindings/lua_entries.h"
#include "data/dataset.h"
#include "find/find.h"
#include "health/health.h"
#include "model/model.h"
#include "objective/loss.h"
#include "objects/run_handle.h"
#include "optim/optimizer.h"
#include "predict/kept_weights.h"
#include "profile/attach.h"
#include "promote/promotion.h"
#include "study/study.h"
#include "sweep/sweep.h"
#include "task/task.h"
#include "train/fit.h"

namespace trainlab {

namespace {

TrialAddition joined_trials() {
  return {.join_fits =
              [](const FitPlan& plan, const TrialsAtWork& trials, FitCompany& company) {
                attach_to_fits(plan, {.stage = trials.stage, .names = trials.names, .count = trials.count}, company);
              },
          .join_task =
              [](const Options& task, const RunSettings& settings, const TrialsAtWork& trial, TaskCompany& company) {
                attach_to_task(task, settings, {.stage = trial.stage, .names = trial.names}, company);
                watch_rows(company, nullptr);  // the log says nothing of single trials
              }};
}

void watch_task(const Options&, const StageContext& context, TaskCompany& company) { watch_rows(company, context.say); }

}  // namespace

Registry all_entries() {
  Registry registry;
  register_language(registry);
  register_tensors(registry);
  register_model(registry);
  register_optim(registry);
  register_data(registry);
  register_objective(registry);
  register_study(registry);
  register_objects(registry);
  register_predict(registry);
  register_train(registry);
  register_fit(registry, {health_addition(), promotion_addition(), attach_addition()});
  register_task(registry, {attach_to_tasks(), watch_task});
  register_sweep(registry, joined_trials());
  register_find(registry);
  return registry;
}

}  // namespace trainlab
