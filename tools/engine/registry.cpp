#include "registry.h"

#include "bindings/lua_entries.h"
#include "data/dataset.h"
#include "model/model.h"
#include "optim/optimizer.h"
#include "study/pruner.h"
#include "study/sampler.h"
#include "study/space.h"
#include "study/study_object.h"
#include "sweep/sweep.h"
#include "train/fit.h"
#include "predict/kept_weights.h"
#include "objective/loss.h"
#include "objective/metric.h"
#include "objects/model_object.h"
#include "task/task.h"
#include "objects/run_handle.h"
#include "train/stop.h"

namespace trainlab {

Registry all_entries() {
  Registry registry;
  register_language(registry);
  register_tensors(registry);
  register_data(registry);
  register_model(registry);
  register_optim(registry);
  register_losses(registry);
  register_metrics(registry);
  register_stop_rules(registry);
  register_space(registry);
  register_samplers(registry);
  register_pruners(registry);
  register_study(registry);
  register_initial_weights(registry);
  register_run_handle(registry);
  register_fit(registry);
  register_task(registry);
  register_sweep(registry);
  register_objects(registry);
  return registry;
}

}  // namespace trainlab
