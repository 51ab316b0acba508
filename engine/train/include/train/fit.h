// lab.fit: trains one model (or, for studies, a group of equal ones) to its length, a stop rule or a budget.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/registry.h"
#include "journal/observer.h"
#include "run/stage.h"
#include "train/fit_plan.h"
#include "train/gradient_pass.h"
#include "train/loop_observer.h"
#include "train/stop.h"

namespace trainlab {

struct FitMember {
  Options options;
  StageContext context;  // without a folder nothing is written or shown, and of `on` only `start` is called
  std::vector<std::shared_ptr<StopRule>> rules = {};  // asked after those of the recipe: who watches a trial
  std::vector<std::shared_ptr<Observer>> observers = {};  // told after those that every stage has
  bool shows_progress = true;                         // a line for each validation
};

// What accompanies the training of all members together, given from outside. A fit with a step of its own takes no
// gradient passes.
struct FitCompany {
  std::vector<std::shared_ptr<LoopObserver>> observers = {};
  std::vector<std::shared_ptr<GradientPass>> passes = {};  // applied after those of the option `clip`
};

// Trains the members together and returns a summary each. `plan` is that of the first; the others may differ from it
// in the optimizer's numbers, probabilities of dropping, schedules, stop rules, callbacks and the seed, and in nothing
// else. axis: with a leading member axis, padded to two rows, since arithmetic on one row differs in bits from that on
// several. Failed members have status "failed": their loss is no number, or a function of their own has raised. What
// concerns all (a disk that is full, an error in a shared function) is raised after the state was kept as it is.
std::vector<Value> run_fits(const FitPlan& plan, std::span<const FitMember> members, bool axis,
                            const FitCompany& company = {});

// What `trainlab check` prints of a fit. `step`: also takes one training and one validation step.
std::string check_fit(const FitPlan& plan, bool step);

// Adds the entry "fit" and those of kind "stop", which are implemented by StopFactory.
void register_train(Registry& registry);

}  // namespace trainlab
