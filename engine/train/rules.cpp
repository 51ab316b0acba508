#include "train/rules.h"

namespace trainlab {
namespace {

class FunctionRule : public StopRule {
 public:
  FunctionRule(std::shared_ptr<Callable> function, std::shared_ptr<RunHandle> run, Key key)
      : function_(std::move(function)), run_(std::move(run)), key_(key) {}

  std::optional<std::string> validated(const Progress& progress) override {
    function_->rekey(key_.fold(static_cast<std::uint64_t>(progress.step)));
    const std::vector<Argument> arguments{std::static_pointer_cast<Object>(run_)};
    const std::vector<Argument> results = function_->call(arguments);
    const Value* reason = results.empty() ? nullptr : std::get_if<Value>(&results[0]);
    if (results.empty() || (reason && reason->is_nil())) return std::nullopt;
    if (!reason || !reason->is_string()) {
      throw recipe_error(function_->where() + ": stop(run) returns a reason (a string) or nil, found " +
                         (reason ? reason->brief() : "an object"));
    }
    return reason->string();
  }

 private:
  std::shared_ptr<Callable> function_;
  std::shared_ptr<RunHandle> run_;
  Key key_;
};

}  // namespace

std::unique_ptr<Schedule> schedule_of(const Options& fit, const RunLength& length, Key key) {
  if (fit.is_function("schedule")) return make_schedule(fit.function("schedule"), length, key);
  return fit.has("schedule") ? make_schedule(fit.child("schedule"), length) : constant_schedule();
}

std::vector<std::unique_ptr<StopRule>> stop_rules_of(const Options& fit, const FitPlan& plan,
                                                     std::shared_ptr<RunHandle> run, Key key) {
  const StopContext context{.monitor = plan.monitor,
                            .minimize = [&plan](const std::string& name) { return plan.minimize(name); }};
  std::vector<std::unique_ptr<StopRule>> rules;
  for (const Options::Element& element : fit.elements("stop")) {
    if (element.entry) {
      const Options& options = *element.entry;
      rules.push_back(options.registry().implementation<StopFactory>(options.entry())(options, context));
    } else {
      rules.push_back(std::make_unique<FunctionRule>(element.function, run, key.fold(rules.size())));
    }
  }
  return rules;
}

}  // namespace trainlab
