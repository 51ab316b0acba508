// The budget of a run: what the recipe and the command line say, and the stages that it bounds.
#include <limits>
#include <utility>

#include "run/folder.h"
#include "run/run.h"

namespace trainlab {

void Run::budget(const Value& options, std::optional<PaidTime> paid) {
  if (!budget_options_.is_nil()) throw recipe_error("expected one budget of the whole recipe, found a second");
  budget_options_ = options;
  paid_ = std::move(paid);
  budget_terms();
}

BudgetTerms Run::budget_terms() const {
  const Value& within = folder_ ? manifest_.setting("within") : request_.options["within"];
  const bool is_given = !within.is_nil() && (!folder_ || within.number() > 0);
  return trainlab::budget_terms(budget_options_, is_given ? std::optional(within.number()) : std::nullopt, paid_,
                                start_);
}

// A new run in whose budget nothing fits leaves no folder.
void Run::check_budget() const {
  const BudgetTerms terms = budget_terms();
  if (terms.is_none() || request_.begun == 0) return;
  Budget(terms, {}, request_.begun, environment_.clock).check_left("the first stage");
}

std::optional<Budget> Run::present_budget() const {
  const BudgetTerms terms = budget_terms();
  if (terms.is_none()) return std::nullopt;
  const double begun = request_.begun > 0 ? request_.begun : environment_.clock();
  return std::optional<Budget>(std::in_place, terms, budget_path(*folder_), begun, environment_.clock,
                               holder_name(request_.supervisor));
}

double budget_share(const Options& stage, bool is_last) {
  return is_last ? 1 : stage.registry().implementation<StageKind>(stage.entry()).budget_share;
}

void Run::begin_in_budget(const Options& stage, const StageRecord& record) {
  if (!budget_) return;
  const bool extends = before_extension_ && before_extension_->stage == record.name;
  // Less may be left than a step needs.
  if (extends && before_extension_->summary["reason"] == Value(flops_are_used)) {
    const Value& own = before_extension_->summary["flops"];
    budget_->refuse_by_flops("stage " + record.name, flops_used() + (own.is_number() ? own.number() : 0));
  }
  budget_->begin_stage(record.name, budget_share(stage, record.folder == "."), extends);
}

void Run::check_counted(const Options& stage) const {
  if (flops_limit() == 0 || registry_.implementation<StageKind>(stage.entry()).counts_flops) return;
  throw stage.error("", "nobody knows the FLOPs of a lab." + stage.entry().name + ", and lab.budget has flops")
      .hint("lab.budget { time = \"2 h\" }");
}

double Run::flops_limit() const {
  const Value& flops = budget_options_["flops"];
  return flops.is_number() ? flops.number() : 0;
}

double Run::flops_used() const {
  double sum = 0;
  for (const auto& [name, done] : done_)
    if (const Value& flops = done.summary["flops"]; flops.is_number()) sum += flops.number();
  return sum;
}

double Run::flops_left_for(const Options& stage, bool is_last) const {
  if (flops_limit() == 0) return std::numeric_limits<double>::infinity();
  return budget_share(stage, is_last) * (flops_limit() - flops_used());
}

}  // namespace trainlab
