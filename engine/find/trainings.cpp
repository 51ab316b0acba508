#include "trainings.h"

#include <cmath>
#include <memory>

#include "optim/optimizer.h"
#include "run/budget.h"
#include "squeezed.h"
#include "train/step_count.h"

namespace trainlab {

Value train_silently(const FitPlan& plan, const RunSettings& settings, const FitCompany& company,
                     const std::function<double()>& seconds_left, double most_flops) {
  StageContext stage = silent_context(plan.options);
  stage.settings = &settings;
  stage.seconds_left = seconds_left;
  stage.most_flops = most_flops;
  const FitMember member{.options = plan.options, .context = std::move(stage), .shows_progress = false};
  try {
    Value summary = run_fits(plan, {&member, 1}, false, company).front();
    if (stop_requested()) throw Error(ErrorKind::interrupted, "asked to stop before all trainings had ended");
    return summary;
  } catch (const SeenEnough&) {
    return {};
  }
}

bool has_length(const Options& fit) { return fit.given("epochs") || fit.given("steps") || fit.given("flops"); }

Trainings::Trainings(const Registry& registry, const Spec& fit, const RunSettings& settings,
                     const SearchContext& context)
    : registry_(registry), fit_(fit), settings_(settings), context_(context) {
  const Options stage(registry, std::make_shared<const Spec>(fit), "");
  if (stage.given("step")) {
    throw stage.error("step", "expected a fit whose steps the engine takes, found a step of its own")
        .hint("its function decides about rates and gradients itself");
  }
}

Options Trainings::changed(const Value::Map& changes) const {
  auto spec = std::make_shared<Spec>(fit_);
  Value::Map& fit = spec->value.map();
  for (const Option& option : registry_.find("fit")->options) {
    if (option.is_of_whole_training) fit.erase(option.name);
  }
  for (const auto& [name, value] : changes) {
    fit.erase(name);
    if (!value.is_nil()) fit.emplace(name, value);
  }
  spec->value = registry_.check(spec->value);
  return Options(registry_, std::move(spec), "");
}

FitPlan Trainings::plan(const Options& changed) {
  FitPlan plan = plan_fit(changed, settings_, data_ ? &*data_ : context_.opened);
  if (!data_) data_ = plan.data;
  return plan;
}

Value Trainings::run(const FitPlan& plan, FitCompany company) {
  if (context_.seconds_left && context_.seconds_left() <= 0) throw SearchBudgetUsed(budget_is_used);
  const double flops_left = context_.most_flops - flops_;
  if (plan.steps_within(flops_left) < 1) throw SearchBudgetUsed(flops_are_used);
  const auto steps = std::make_shared<StepCount>(plan.length.total_steps);
  company.observers.insert(company.observers.begin(), steps);
  const auto count = [&](std::int64_t taken) {
    const double flops = plan.flops_until(taken);
    flops_ += flops;
    if (context_.used) context_.used(flops);
  };
  Value summary;
  try {
    summary = train_silently(plan, settings_, company, context_.seconds_left, flops_left);
  } catch (...) {
    count(steps->begun());  // the search may go on, as it does when a training lacks memory
    throw;
  }
  count(summary.is_nil() ? steps->begun() : steps->done());
  const Value& reason = summary["reason"];
  if (reason.is_string() && is_of_run_budget(reason.string())) throw SearchBudgetUsed(reason.string());
  return summary;
}

const RunLength& Trainings::length() {
  if (!length_) {
    const Options whole = changed({});
    length_ = plan(has_length(whole) ? whole : changed({{"steps", assumed_steps}})).length;
  }
  return *length_;
}

EndLoss Trainings::end_loss(const ShortTraining& training) {
  const Options whole = changed({{"optim", with_rate(training.optimizer, training.rate)},
                                 {"epochs", Value()},
                                 {"flops", Value()},
                                 {"steps", training.steps},
                                 {"seed", training.seed}});
  auto spec = std::make_shared<Spec>(whole.spec());
  squeeze_schedules(*spec, whole, length(), training.steps);
  const FitPlan short_fit = plan(Options(registry_, std::move(spec), ""));
  const Value summary = run(short_fit, {});
  EndLoss loss{.metric = short_fit.data.val && short_fit.measures() ? "val.loss" : "train.loss"};
  // A fit that failed may have kept weights from before.
  const bool has_end = summary["status"] != Value("failed") && summary["metrics"][loss.metric].is_number();
  loss.value = has_end ? summary["metrics"][loss.metric].number() : std::nan("");
  return loss;
}

}  // namespace trainlab
