#include "trainings.h"

#include <cmath>

#include "optim/optimizer.h"
#include "run/budget.h"
#include "squeezed.h"

namespace trainlab {

Value train_silently(const FitPlan& plan, const RunSettings& settings, const FitCompany& company,
                     const std::function<double()>& seconds_left) {
  StageContext stage = silent_context(plan.options);
  stage.settings = &settings;
  stage.seconds_left = seconds_left;
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

Value Trainings::run(const FitPlan& plan, const FitCompany& company) const {
  if (context_.seconds_left && context_.seconds_left() <= 0) throw SearchTimeUsed();
  Value summary = train_silently(plan, settings_, company, context_.seconds_left);
  if (summary["reason"] == Value(budget_is_used)) throw SearchTimeUsed();
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
