#include "health/health.h"

#include <memory>
#include <set>

#include "core/trace.h"
#include "watch/health_watch.h"

namespace trainlab {
namespace {

// The rule of action = "stop": ends the fit at the first validation after a verdict.
class StopAtVerdict final : public StopRule {
 public:
  explicit StopAtVerdict(std::shared_ptr<const HealthWatch> watch) : watch_(std::move(watch)) {}
  std::optional<std::string> validated(const Progress&) override {
    if (watch_->verdicts().empty()) return {};
    const HealthVerdict& first = watch_->verdicts().front();
    return "health: " + std::string(name_of(first.kind)) + ": " + first.evidence;
  }

 private:
  std::shared_ptr<const HealthWatch> watch_;
};

// Calls the recipe's function once for each verdict, at the first validation after the verdict or at the end.
class CallsRecipe final : public Observer {
 public:
  CallsRecipe(std::shared_ptr<const HealthWatch> watch, std::shared_ptr<Callable> function, Key key)
      : watch_(std::move(watch)), function_(std::move(function)), key_(key) {}

  void started(const FitView& view) override {
    run_ = view.run;
    for (const HealthVerdict& verdict : watch_->verdicts()) called_.insert(verdict.kind);  // found before a resume
  }
  void validated(const ValidationView& view) override { call(view.step); }
  void finished(const Value& summary) override {
    if (summary["status"] != Value("interrupted")) call(summary["steps"].integer());
  }

 private:
  void call(std::int64_t step) {
    const std::vector<HealthVerdict> verdicts = watch_->verdicts();
    for (const HealthVerdict& verdict : verdicts) {
      if (!called_.insert(verdict.kind).second) continue;
      const Span span(Phase::callback, "health");
      function_->rekey(key_.fold(static_cast<std::uint64_t>(step)).fold(name_of(verdict.kind)));
      const std::vector<Argument> arguments{run_.lock(), to_value(verdict)};
      function_->call(arguments);
    }
  }

  std::shared_ptr<const HealthWatch> watch_;
  std::shared_ptr<Callable> function_;
  Key key_;
  std::weak_ptr<Object> run_;
  std::set<HealthKind> called_;
};

void join(const FitPlan& plan, FitMember& member, FitCompany& company) {
  const auto watch = std::make_shared<HealthWatch>(plan, member.context.say);
  member.observers.push_back(watch);
  member.parts.push_back(watch->part());
  // In a step of the recipe's own, and in a step within the backward pass, all gradients never exist at the same time.
  if (!plan.step && !plan.fuse_step) {
    company.observers.push_back(watch);
    company.passes.push_back(watch);
  }
  if (member.options.given("health") && member.options.child("health").string("action") == "stop")
    member.rules.push_back(std::make_shared<StopAtVerdict>(watch));
  if (member.options.given("on") && member.options.child("on").given("health")) {
    const Key key = Key(static_cast<std::uint64_t>(plan.seed)).fold("callback").fold(member.context.name);
    member.observers.push_back(
        std::make_shared<CallsRecipe>(watch, member.options.child("on").function("health"), key.fold("health")));
  }
}

}  // namespace

FitAddition health_addition() {
  return {.options = {Option("health", "how the fit reacts to a fault that is found in its training (docs/health.md)")
                          .fields({Option("action",
                                          "\"tell\" says it in the log, the summary and the report; \"stop\" also ends "
                                          "the fit at the next validation")
                                       .choice({"tell", "stop"})
                                       .or_default("tell")})},
          .callbacks = {Option("health",
                               "at the first validation after a fault of the training was found, and at the "
                               "end; receives the run and { kind, step, confidence, evidence, remedy }")
                            .function("function(run, verdict)")},
          .join = join};
}

}  // namespace trainlab
