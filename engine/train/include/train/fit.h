// lab.fit: trains one model (or, for studies, a group of equal ones) to its length, a stop rule or a budget.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/registry.h"
#include "journal/observer.h"
#include "journal/record.h"
#include "journal/speed.h"
#include "run/stage.h"
#include "train/fit_plan.h"
#include "train/gradient_pass.h"
#include "train/loop_observer.h"
#include "train/stop.h"

namespace trainlab {

// Calls a function of the recipe that a room above `train` takes in `on`, once for each thing that the room has found
// and the function has not heard of. `run`: the object that the recipe's functions get.
using Teller = std::function<void(std::int64_t step, const std::shared_ptr<Object>& run)>;

struct FitMember {
  Options options;
  // Without a folder nothing is written or shown, and of the recipe's functions in `on` only `start` is called, or all
  // of them in a rehearsal; rules and observers below are called as in any fit.
  StageContext context;
  std::vector<std::shared_ptr<StopRule>> rules = {};      // asked after the rules of the recipe; they watch a trial
  std::vector<std::shared_ptr<Observer>> observers = {};  // called after the observers that every stage has
  // Called after the observers of a validation, before the rules, and at the end unless the fit was asked to stop.
  // After an error a resumed fit begins with this call.
  std::vector<Teller> tellers = {};
  // The parts that observers and gradient passes from outside keep in the member's checkpoints; restored after the
  // member's own parts, and before observers are told that the fit has started.
  std::vector<Resumable> parts = {};
  bool shows_progress = true;  // a line for each validation
  // Parts that an observer evaluates once more when the summary is made: a budget of time keeps the time for them.
  std::vector<const Part*> evaluated_at_end = {};
};

// Observers and passes from outside for the training of all members together. A fit with a step of its own takes no
// gradient passes.
struct FitCompany {
  std::vector<std::shared_ptr<LoopObserver>> observers = {};
  std::vector<std::shared_ptr<GradientPass>> passes = {};  // after those of the option `clip`, unless a pass says more
  // The trainings to which this one belongs: its figures are added when it ends, however it ends, and the notes are
  // those about all of them. Null: the training is told of by itself, to the first member.
  SpeedTotal* speed = nullptr;
};

// Trains the members together and returns a summary for each. `plan` is the plan of the first member; the others may
// differ from it only in the optimizer's numbers, dropout probabilities, schedules, stop rules, callbacks and the seed.
// `axis`: use a leading member axis, padded to two rows, because arithmetic on one row differs in bits from arithmetic
// on several rows. Failed members have status "failed": their loss is not finite, or a function of their own has raised
// an error. Errors that concern all members (a full disk, an error in a shared function or in a gradient pass) are
// raised, and the checkpoints stay as they are; but where a callback of a fit that trains alone raises an error between
// two steps, or one that has changed nothing yet within a step, the steps that are done are saved, and the error is a
// SavedError.
std::vector<Value> run_fits(const FitPlan& plan, std::span<const FitMember> members, bool axis,
                            const FitCompany& company = {});

// The findings of `trainlab check` for a fit.
Checked check_fit(FitPlan plan, const CheckedToo& too);

// The most bytes of tensors that the company of a fit holds.
struct CompanyBytes {
  std::int64_t in_step = 0;  // while the forward and the backward pass go on
  std::int64_t in_pass = 0;  // in addition, while its gradient pass goes on
  std::int64_t between = 0;  // between two steps
};

// Company for fits that a sweep or an ensemble builds, those that train together; see run_fits().
using JoinTrials =
    std::function<void(const FitPlan& plan, std::span<FitMember> members, bool axis, FitCompany& company)>;

// The additions of a room above `train` to each lab.fit: options, and company for the fit.
struct FitAddition {
  std::vector<Option> options;
  std::vector<Option> callbacks;  // functions in the option `on`, which the room calls itself
  // Whether a recipe that gives one of the options asks for steps whose gradients exist all together, as they do not
  // with memory.fuse_step.
  bool reads_gradients = false;
  // Raises Error{recipe} for options that do not fit the plan. May be null.
  std::function<void(const FitPlan& plan)> check = {};
  // For fits that train side by side, of them all. May be null: the company holds no tensors.
  std::function<CompanyBytes(const FitPlan& plan, std::size_t members)> bytes = {};
  // A warning where the options of a fit that a sweep or an ensemble builds ask for something that is not done there;
  // empty where they do not. May be null.
  std::function<std::string(const FitPlan& plan)> missed = {};
  // Called after the plan was made, before a fit begins that is a stage by itself.
  std::function<void(const FitPlan& plan, FitMember& member, FitCompany& company)> join;
  // The same for the fits that a process trains of a sweep or an ensemble: called before the first of them. What it
  // returns may keep what they share, and is called for one training after the other. May be null.
  std::function<JoinTrials()> join_trials = {};
  // For `trainlab check --callbacks`, which calls each function of a recipe: tellers that call those of `callbacks`
  // once, with a sample of what the room finds. May be null.
  std::function<std::vector<Teller>(const FitPlan& plan)> rehearse = {};
  // StageKind::publish() of a fit; returns a line, or an empty text. May be null.
  std::function<std::string(const Value& summary, const std::filesystem::path& run)> publish = {};
};

// plan_fit(), and the checks of the additions with which the entry of this fit was registered.
FitPlan plan_with_additions(const Options& fit, const RunSettings& settings, const DataParts* opened = nullptr);

// The additions with which the entry of this fit was registered.
const std::vector<FitAddition>& additions_of(const Options& fit);

// Adds the entries of kind "stop", which StopFactory implements.
void register_train(Registry& registry);
// Adds the entry "fit".
void register_fit(Registry& registry, const std::vector<FitAddition>& additions = {});

}  // namespace trainlab
