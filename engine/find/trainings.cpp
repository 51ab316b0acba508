#include "trainings.h"

namespace trainlab {

Trainings::Trainings(const Registry& registry, const Spec& fit, const RunSettings& settings)
    : registry_(registry), fit_(fit), settings_(settings) {
  const Options stage(registry, std::make_shared<const Spec>(fit), "");
  if (stage.given("step")) {
    throw stage.error("step", "expected a fit whose steps the engine takes, found a step of its own")
        .hint("its function decides about rates and gradients itself");
  }
}

Options Trainings::changed(const Value::Map& changes) const {
  auto spec = std::make_shared<Spec>(fit_);
  Value::Map& fit = spec->value.map();
  for (const char* name : {"time", "stop", "on", "ema", "checkpoint"}) fit.erase(name);
  for (const auto& [name, value] : changes) {
    fit.erase(name);
    if (!value.is_nil()) fit.emplace(name, value);
  }
  spec->value = registry_.check(spec->value);
  return Options(registry_, std::move(spec), "");
}

FitPlan Trainings::plan(const Options& changed) {
  FitPlan plan = plan_fit(changed, settings_, data_ ? &*data_ : nullptr);
  if (!data_) data_ = plan.data;
  return plan;
}

void Trainings::run(const FitPlan& plan, const FitCompany& company) const {
  StageContext context;
  context.name = plan.options.string("name");
  context.settings = &settings_;
  context.say = [](const std::string&) {};
  const FitMember member{.options = plan.options, .context = std::move(context), .shows_progress = false};
  try {
    run_fits(plan, {&member, 1}, false, company);
  } catch (const TrainingDone&) {
  }
}

}  // namespace trainlab
