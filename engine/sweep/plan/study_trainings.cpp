// The trainings of a study, for commands that measure one of them.
#include <fmt/format.h>

#include <algorithm>

#include "core/words.h"
#include "plan/study_plan.h"

namespace trainlab {

namespace {

// "lr = 0.0123, width = 64".
std::string params_text(const Value::Map& params) {
  return joined(params, ", ", [](const auto& one) {
    const auto& [name, value] = one;
    return name + " = " + (value.is_number() ? fmt::format("{:.4g}", value.number()) : value.brief());
  });
}

}  // namespace

StageTrainings StudyPlan::trainings() const {
  const Study study = this->study();
  const std::int64_t trials = most_trials(study);
  const bool is_bounded = trials < StudyTerms::no_limit;
  const Scheduler* const scheduler = study.scheduler();
  // A scheduler that waits for results knows how long all segments are.
  const bool may_be_shorter = scheduler && (scheduler->is_by_order() || !is_bounded);
  const std::string params = params_text(terms_.space.params(example_point_));
  std::vector<TrainingWave> waves;
  if (is_bounded) waves = scheduler ? scheduler->waves(trials) : std::vector{TrainingWave{.trials = trials}};
  return {.first = example(),
          .name = fmt::format("trial {} of {} {}{}", example_trial_, options_.entry().name, options_.string("name"),
                              params.empty() ? "" : " (" + params + ")"),
          .option = "build",
          .waves = std::move(waves),
          .repeats = terms_.repeats,
          .at_end = terms_.trainings_at_end,
          .together = trainings_together(study, trials),
          .workers = static_cast<int>(std::min<std::int64_t>(workers_, trials)),
          .validations_decide = pruner() || scheduler,
          .may_be_fewer = pruner() || may_be_shorter || leaves_out(study),
          .may_end_early = terms_.ends_without_improvement || study.points(),
          .share = terms_.trainings_at_end > 0 ? 1 : 1 - terms_.share_at_end,
          .predictions = runs_tasks() ? 0 : terms_.predictions_at_end};
}

// The trials that the recipe asks for, or all points of a grid that has fewer of them.
std::int64_t StudyPlan::most_trials(const Study& study) const {
  if (study.scheduler() || !study.points()) return terms_.trials;
  return std::min(terms_.trials, *study.points() + std::ssize(terms_.enqueued));
}

// Whether trials, or repeats of a trial, may be left out: repeats of a trial that is clearly worse than the best, a
// trial at a point that was tried before, the trials after the one that ends a search without improvement, and points
// of a grid.
bool StudyPlan::leaves_out(const Study& study) const {
  if (terms_.repeats > 1 || terms_.reuses_duplicates || terms_.ends_without_improvement) return true;
  const bool has_constraints = options_.entry().find("constraints") && options_.given("constraints");
  return study.points() && (has_constraints || !terms_.enqueued.empty());
}

// A group holds whole trials, and no more trainings than a stack has room for, but for a single trial that has more.
std::int64_t StudyPlan::trainings_together(const Study& study, std::int64_t trials) const {
  const std::int64_t stack = runs_tasks() ? 1 : stack_of(plan_fit(example()));
  if (stack == 1) return 1;
  const std::int64_t whole = std::max<std::int64_t>(stack / terms_.repeats, 1);
  return std::min(trials_at_once(study, stack, trials), whole) * terms_.repeats;
}

}  // namespace trainlab
