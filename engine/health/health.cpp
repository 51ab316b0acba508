#include "health/health.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/trace.h"
#include "optim/optimizer.h"
#include "task/task.h"
#include "watch/health_watch.h"
#include "watch/row_watch.h"
#include "watch/run_facts.h"
#include "watch/stack_watch.h"

namespace trainlab {
namespace {

// Ends the fit at the first validation after a verdict that is no guess: action = "stop" after one of any kind,
// action = "fix" after that of overfitting, whose remedy is the end. A run that was extended begins with the verdicts
// of its former length, and without the state of the rule: these verdicts do not count any more.
class StopAtVerdict final : public StopRule {
 public:
  StopAtVerdict(std::shared_ptr<const HealthWatch> watch, std::optional<HealthKind> kind)
      : watch_(std::move(watch)), kind_(kind) {}
  std::optional<std::string> validated(const Progress&) override {
    for (const HealthVerdict& verdict : watch_->verdicts()) {
      if (verdict.confidence != "low" && verdict.step > counted_from() && (!kind_ || verdict.kind == *kind_))
        return "health: " + std::string(name_of(verdict.kind)) + ": " + verdict.evidence;
    }
    return {};
  }
  Value state() const override { return counted_from(); }
  void restore(const Value& state) override { counted_from_ = state.is_integer() ? state.integer() : -1; }

 private:
  std::int64_t counted_from() const { return counted_from_.value_or(watch_->restored_at()); }

  std::shared_ptr<const HealthWatch> watch_;
  std::optional<HealthKind> kind_;
  std::optional<std::int64_t> counted_from_;  // verdicts after this step count
};

void call_with_verdict(Callable& function, Key key, std::int64_t step, const std::shared_ptr<Object>& run,
                       const HealthVerdict& verdict) {
  const Span span(Phase::callback, "health");
  function.rekey(key.fold(static_cast<std::uint64_t>(step)).fold(name_of(verdict.kind)));
  const std::vector<Argument> arguments{run, to_value(verdict)};
  function.call(arguments);
}

// Calls the recipe's function for each verdict that it has not heard of and that no fix may end any more.
Teller teller_of(std::shared_ptr<HealthWatch> watch, std::shared_ptr<Callable> function, Key key) {
  return [watch = std::move(watch), function = std::move(function), key](std::int64_t step,
                                                                         const std::shared_ptr<Object>& run) {
    for (const HealthVerdict& verdict : watch->unheard()) {
      call_with_verdict(*function, key, step, run, verdict);
      watch->hear(verdict.kind);
    }
  };
}

// The recipe's function on.health; null where there is none.
std::shared_ptr<Callable> verdict_function(const Options& fit) {
  if (!fit.given("on") || !fit.child("on").given("health")) return nullptr;
  return fit.child("on").function("health");
}

// Few samples show no fault, so that the function gets a verdict that is none of this fit.
std::vector<Teller> rehearsed(const FitPlan& plan) {
  std::shared_ptr<Callable> function = verdict_function(plan.options);
  if (!function) return {};
  const HealthVerdict sample{.kind = HealthKind::plateau,
                             .step = 1,
                             .confidence = "low",
                             .evidence = "a verdict that trainlab check has made up",
                             .remedy = "none"};
  const Key key(static_cast<std::uint64_t>(plan.seed));
  return {[=, is_called = false](std::int64_t step, const std::shared_ptr<Object>& run) mutable {
    if (!std::exchange(is_called, true)) call_with_verdict(*function, key, step, run, sample);
  }};
}

std::string action_of(const Options& fit) {
  return fit.given("health") ? fit.child("health").string("action") : "tell";
}

void check(const FitPlan& plan) {
  if (action_of(plan.options) != "fix") return;
  const char* const without = plan.step ? "step" : plan.fuse_step ? "memory.fuse_step" : nullptr;
  if (!without) return;
  throw plan.options.child("health")
      .error("action", std::string("\"fix\" needs the gradients of each step, found the option ") + without)
      .hint("action = \"stop\" ends the fit after a verdict");
}

std::string missed(const FitPlan& plan) {
  if (action_of(plan.options) != "fix") return "";
  return "health.action = \"fix\" only tells in trials: a trial with a remedy would be one of other parameters";
}

// The watch joins one fit, which is a stage by itself or one of several trials.
void join_member(const FitPlan& plan, const std::shared_ptr<HealthWatch>& watch, FitMember& member) {
  member.observers.push_back(watch);
  Resumable part = watch->part();
  // The verdicts and the figures of the trial whose checkpoint a clone begins with are about other parameters.
  if (!member.context.clone_of.empty()) part.restore = {};
  member.parts.push_back(std::move(part));
  if (action_of(plan.options) == "stop") member.rules.push_back(std::make_shared<StopAtVerdict>(watch, std::nullopt));
  if (const std::shared_ptr<Callable> function = verdict_function(member.options)) {
    const std::int64_t seed = member.options.given("seed") ? member.options.integer("seed") : plan.seed;
    const Key key = Key(static_cast<std::uint64_t>(seed)).fold("callback").fold(member.context.name);
    member.tellers.push_back(teller_of(watch, function, key.fold("health")));
  }
}

// The watch joins the loop of a fit that trains without others.
void join_loop(const FitPlan& plan, const std::shared_ptr<HealthWatch>& watch, FitCompany& company) {
  if (!watches_steps(plan)) return;
  company.observers.push_back(watch);
  company.passes.push_back(watch);
}

void join(const FitPlan& plan, FitMember& member, FitCompany& company) {
  const bool fixes = action_of(plan.options) == "fix";
  const auto watch = std::make_shared<HealthWatch>(plan, run_facts(plan, sample_facts(plan.data)), member.context.say,
                                                   fixes ? member.context.settings : nullptr);
  join_member(plan, watch, member);
  join_loop(plan, watch, company);
  if (fixes) member.rules.push_back(std::make_shared<StopAtVerdict>(watch, HealthKind::overfitting));
}

// The facts of the samples of the latest fits: reading samples takes longer than the training of a small trial, and
// the trials of a study mostly share their data. The data itself is not kept.
class LatestSamples {
 public:
  const SampleFacts& of(const DataParts& data) {
    std::array<std::shared_ptr<const void>, 6> parts{data.train.data, data.train.rows};
    if (data.val) std::tie(parts[2], parts[3]) = std::tie(data.val->data, data.val->rows);
    if (data.test) std::tie(parts[4], parts[5]) = std::tie(data.test->data, data.test->rows);
    const auto is_same = [](const std::weak_ptr<const void>& known, const std::shared_ptr<const void>& part) {
      return !known.owner_before(part) && !part.owner_before(known);
    };
    if (facts_ && std::ranges::equal(parts_, parts, is_same)) return *facts_;
    std::ranges::copy(parts, parts_.begin());
    return facts_.emplace(sample_facts(data));
  }

 private:
  std::array<std::weak_ptr<const void>, 6> parts_;  // samples and rows of each part
  std::optional<SampleFacts> facts_;
};

// The log says nothing of single trials: the summary of their stage counts the verdicts.
void join_fits(const FitPlan& plan, const SampleFacts& samples, std::span<FitMember> members, bool axis,
               FitCompany& company) {
  RunFacts facts = run_facts(plan, samples);
  std::vector<std::shared_ptr<HealthWatch>> watches;
  for (FitMember& member : members) {
    if (!plan.step) facts.lr = learning_rate(member.options.child("optim"));
    watches.push_back(std::make_shared<HealthWatch>(plan, facts, nullptr));
    join_member(plan, watches.back(), member);
  }
  if (!axis) return join_loop(plan, watches.front(), company);
  if (!watches_steps(plan)) return;
  const auto stack = std::make_shared<StackWatch>(plan, std::move(watches));
  company.observers.push_back(stack);
  company.passes.push_back(stack);
}

JoinTrials join_trials() {
  return [latest = LatestSamples()](const FitPlan& plan, std::span<FitMember> members, bool axis,
                                    FitCompany& company) mutable {
    join_fits(plan, latest.of(plan.data), members, axis, company);
  };
}

CompanyBytes bytes_of(const FitPlan& plan, std::size_t members) {
  return members > 1 ? stacked_bytes(plan, members) : watched_bytes(plan);
}

}  // namespace

FitAddition health_addition() {
  return {
      .options = {Option("health", "how the fit reacts to a fault that is found in its training (docs/health.md)")
                      .fields({Option("action",
                                      "\"tell\" says it in the log, the summary and the report; \"stop\" also ends "
                                      "the fit at the next validation, unless the confidence is low; \"fix\" goes back "
                                      "to the last good checkpoint, or begins anew, and goes on with the remedy, at "
                                      "most three times")
                                   .choice({"tell", "stop", "fix"})
                                   .or_default("tell")})},
      .callbacks = {Option("health",
                           "at the first validation after a fault of the training was found, and at the "
                           "end; receives the run and { kind, step, confidence, evidence, remedy }")
                        .function("function(run, verdict)")},
      .reads_gradients = true,
      .check = check,
      .bytes = bytes_of,
      .missed = missed,
      .join = join,
      .join_trials = join_trials,
      .rehearse = rehearsed};
}

void watch_rows(TaskCompany& company, const std::function<void(const std::string&)>& say) {
  const auto watch = std::make_shared<RowWatch>(say);
  company.observers.push_back(watch);
  company.parts.push_back(watch->part());
  company.watches_losses = true;
}

}  // namespace trainlab
