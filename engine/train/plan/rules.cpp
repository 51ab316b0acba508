#include "train/rules.h"

#include <algorithm>

#include "core/function_error.h"
#include "core/trace.h"
#include "optim/optimizer.h"

namespace trainlab {
namespace {

class FunctionRule : public StopRule {
 public:
  FunctionRule(std::shared_ptr<Callable> function, std::shared_ptr<RunHandle> run, Key key)
      : function_(std::move(function)), run_(std::move(run)), key_(key) {}

  std::optional<std::string> validated(const Progress& progress) override {
    const Span span(Phase::callback, "stop");
    function_->rekey(key_.fold(static_cast<std::uint64_t>(progress.step)));
    const std::vector<Argument> arguments{std::static_pointer_cast<Object>(run_)};
    const std::vector<Argument> results = function_->call(arguments);
    const Value* reason = results.empty() ? nullptr : std::get_if<Value>(&results[0]);
    if (results.empty() || (reason && reason->is_nil())) return std::nullopt;
    if (!reason || !reason->is_string()) {
      throw function_error(*function_, "stop(run) returns a reason (a string) or nil, found " +
                                           (reason ? reason->brief() : "an object"));
    }
    return reason->string();
  }

 private:
  std::shared_ptr<Callable> function_;
  std::shared_ptr<RunHandle> run_;
  Key key_;
};

void check_reader(StopRule& rule, const Options& options, const FitPlan& plan) {
  const char* const without = plan.step ? "step" : plan.fuse_step ? "memory.fuse_step" : nullptr;
  if (!without || !rule.gradient_reader()) return;
  throw options
      .error("", options.entry().name + " reads the gradients of each step, found the option " + std::string(without))
      .hint("stop.patience reads the validations alone");
}

}  // namespace

void Schedules::set_total(std::int64_t total_steps) {
  for (Schedule* one : {lr.get(), momentum.get(), weight_decay.get()})
    if (one) one->set_total(total_steps);
}

void Schedules::validated(double value, bool minimize) {
  for (Schedule* one : {lr.get(), momentum.get(), weight_decay.get()})
    if (one) one->validated(value, minimize);
}

Value Schedules::state() const {
  if (!momentum && !weight_decay) return lr->state();
  Value state;
  state.set("lr", lr->state());
  if (momentum) state.set("momentum", momentum->state());
  if (weight_decay) state.set("weight_decay", weight_decay->state());
  return state;
}

void Schedules::restore(const Value& state) {
  if (!momentum && !weight_decay) return lr->restore(state);
  lr->restore(state["lr"]);
  if (momentum) momentum->restore(state["momentum"]);
  if (weight_decay) weight_decay->restore(state["weight_decay"]);
}

Option schedule_option() {
  const auto of = [](const char* name, const char* doc) {
    return Option(name, doc).entry("schedule").function("function(step, total) → factor");
  };
  return of("schedule", "factor of the optimizer's rate by step, or factors of several of its numbers by name")
      .fields({of("lr", "factor of the rate"), of("momentum", "factor of the momentum, or of the first beta"),
               of("weight_decay", "factor of the weight decay")})
      .keyed();
}

Schedules schedules_of(const Options& table, const std::string& name, const Options& optimizer, const RunLength& length,
                       Key key) {
  const auto one = [&](const Options& given, const std::string& option, Key own) -> std::unique_ptr<Schedule> {
    if (!given.given(option)) return nullptr;
    if (given.is_function(option)) return make_schedule(given.function(option), length, own);
    return make_schedule(given.child(option), length);
  };
  Schedules all;
  if (table.given(name) && !table.is_function(name) && !table.is_entry(name)) {
    const Options given = table.child(name);
    all.lr = one(given, "lr", key);
    all.momentum = one(given, "momentum", key.fold("momentum"));
    all.weight_decay = one(given, "weight_decay", key.fold("weight_decay"));
    if (all.momentum && !has_momentum(optimizer))
      throw given.error("momentum",
                        "expected an optimizer with a momentum, found " + optimizer.entry().name + " without");
    if (all.weight_decay && !has_weight_decay(optimizer))
      throw given.error("weight_decay", "expected an optimizer with a weight decay, found " + optimizer.entry().name);
  } else {
    all.lr = one(table, name, key);
  }
  if (!all.lr) all.lr = constant_schedule();
  return all;
}

std::vector<Error> warnings_of_schedules(const Options& fit, const RunLength& length) {
  if (!fit.given("schedule") || fit.is_function("schedule")) return {};
  const Options schedule = fit.child("schedule");
  if (fit.is_entry("schedule")) return warnings_of_schedule(schedule, length);
  std::vector<Error> all;
  for (const char* number : {"lr", "momentum", "weight_decay"}) {
    if (!schedule.given(number) || !schedule.is_entry(number)) continue;
    for (Error& warning : warnings_of_schedule(schedule.child(number), length)) all.push_back(std::move(warning));
  }
  return all;
}

std::optional<Schedules> step_schedules_of(const FitPlan& plan, const FitPlan::StepModel& model, Key key) {
  const bool keyed = plan.options.is_keyed("schedule");
  const Options table = keyed ? plan.options.keyed("schedule") : plan.options;
  const std::string name = keyed ? model.name : "schedule";
  const std::vector<std::string> given = table.names();
  if (std::find(given.begin(), given.end(), name) == given.end()) return std::nullopt;
  return schedules_of(table, name, model.optimizer, plan.length, key);
}

std::vector<std::unique_ptr<StopRule>> stop_rules_of(const Options& fit, const FitPlan& plan,
                                                     const std::shared_ptr<RunHandle>& run, Key key) {
  const StopContext context{.monitor = plan.monitor,
                            .minimize =
                                [&plan](const std::string& name) {
                                  plan.check_watched(name);
                                  return plan.minimize(name);
                                },
                            .best_possible = [&plan](const std::string& name) { return plan.best_possible(name); }};
  std::vector<std::unique_ptr<StopRule>> rules;
  for (const Options::Element& element : fit.elements("stop")) {
    if (element.entry) {
      const Options& options = *element.entry;
      rules.push_back(options.registry().implementation<StopFactory>(options.entry())(options, context));
      check_reader(*rules.back(), options, plan);
    } else {
      rules.push_back(std::make_unique<FunctionRule>(element.function, run, key.fold(rules.size())));
    }
  }
  return rules;
}

}  // namespace trainlab
