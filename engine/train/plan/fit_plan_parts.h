// Parts of plan_fit() that have files of their own, and a check that a fit repeats when it is resumed.
#pragma once

#include <string>
#include <vector>

#include "train/fit_plan.h"

namespace trainlab {

// The models of a plan with data, their optimizers where a step of the recipe's own trains them, and the columns that
// the only model reads.
void plan_models(FitPlan& plan);

// The steps of a plan with models and a loader, and how many lie between two validations and two checkpoints.
void plan_length(FitPlan& plan, const RunSettings& settings);
void plan_intervals(FitPlan& plan);

// The head, the loss and the metrics of a plan with data and a model.
void plan_objective(FitPlan& plan);

// The option `memory`, of a plan that has all else.
void plan_memory(FitPlan& plan, const RunSettings& settings);
// The bytes of the option memory.budget; 0 without. A percentage is one of the tensors that the process may hold when
// the plan is made, and stays what it was then in a run that goes on, which has it in `chosen`.
std::int64_t memory_budget(const Options& memory, const Value& chosen);
// Why the options memory.fuse_step, memory.chunk_loss and memory.offload are not for this fit; an empty text where they
// are.
std::string why_not_fused(const FitPlan& plan);
std::string why_not_chunked(const FitPlan& plan);
std::string why_not_offloaded(const FitPlan& plan);

// The batch of a fit with batch = "auto": the largest whose training step is predicted to fit into the option
// memory.budget or into what is free; with `effective`, a divisor of this number, whose quotient is the number of
// micro-batches. `plan` is complete, with some other batch. Error{recipe} where a step cannot be predicted, or a single
// sample does not fit.
std::int64_t largest_batch(const FitPlan& plan, const RunSettings& settings);

// Warnings about a fit with one model and a loss, each as "FILE:LINE: path: text".
std::vector<std::string> warnings_of(const FitPlan& plan);

// `trainlab extend --time`: Error{usage} unless the new total is more than `before`, the budget so far.
void check_more_time(const RunSettings& settings, double before);

}  // namespace trainlab
