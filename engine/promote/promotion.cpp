#include "promote/promotion.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <optional>

#include "incumbent.h"
#include "run/folder.h"
#include "run/latest.h"
#include "serving.h"
#include "tensor/operator_errors.h"

namespace trainlab {
namespace {

namespace fs = std::filesystem;

// The field `promotion` of the summary.
struct Decision {
  std::string metric;
  double value = 0;                        // value of the new model
  fs::path rival = {};                     // the run of the other model; empty: there is no other model
  std::optional<double> rival_value = {};  // its value on the same data; nullopt where it cannot be measured
  bool is_promoted = false;
  std::string reason;

  Value to_value() const {
    Value compared;
    if (!rival.empty()) compared.set("run", rival.string());
    if (rival_value) compared.set("value", *rival_value);
    return Value::Map{{"metric", metric},
                      {"value", value},
                      {"promoted", is_promoted},
                      {"rival", std::move(compared)},
                      {"reason", reason}};
  }
};

class Promotion final : public Observer {
 public:
  Promotion(const FitPlan& plan, const FitMember& member)
      : plan_(plan),
        rule_(member.options.child("promote")),
        run_(find_run(member.context.folder)),
        say_(member.context.say),
        metric_(metric_of(plan)) {
    served_beside(run_);  // raises before the training where the link's name is taken
  }

  static std::string metric_of(const FitPlan& plan) {
    const Options rule = plan.options.child("promote");
    return rule.given("metric") ? rule.string("metric") : plan.monitor;
  }

  void add_to(Value& summary) override {
    if (!is_finished(summary)) return;
    if (!decision_) decision_ = decide(summary["metrics"][metric_]);
    summary.set("promotion", decision_->to_value());
  }

  void finished(const Value& summary) override {
    if (!decision_ || !is_finished(summary)) return;
    if (decision_->is_promoted) serve(run_);
    say_((decision_->is_promoted ? "promoted: " : "not promoted: ") + decision_->reason);
  }

 private:
  fs::path rival() const {
    return rule_.string("not_worse_than") == "current" ? served_beside(run_) : latest_run(run_.parent_path());
  }

  Decision decide(const Value& measured) const {
    Decision decision{
        .metric = metric_, .value = measured.is_number() ? measured.number() : std::nan(""), .reason = {}};
    const std::string own = fmt::format("{} {:.4g}", metric_, decision.value);
    if (!std::isfinite(decision.value)) {
      decision.reason = own + " is no number";
      return decision;
    }
    decision.rival = rival();
    if (decision.rival.empty() || decision.rival == run_) {
      decision.is_promoted = true;
      decision.rival.clear();
      decision.reason = own + ", and there is no other run to compare with";
      return decision;
    }
    try {
      decision.rival_value = with_torch_errors([&] { return metric_of_run(plan_, decision.rival, metric_); });
    } catch (const Error& error) {
      decision.reason =
          "the model in " + decision.rival.string() + " cannot be measured on this data: " + error.message();
      return decision;
    }
    const double gain = (decision.value - *decision.rival_value) * (plan_.minimize(metric_) ? -1 : 1);
    decision.is_promoted = gain >= -rule_.number("by");
    decision.reason =
        fmt::format("{}, and {:.4g} of {} on the same data", own, *decision.rival_value, decision.rival.string());
    return decision;
  }

  const FitPlan& plan_;
  Options rule_;
  fs::path run_;
  std::function<void(const std::string&)> say_;
  std::string metric_;
  std::optional<Decision> decision_;
};

void check(const FitPlan& plan) {
  if (!plan.options.given("promote")) return;
  const Options rule = plan.options.child("promote");
  if (plan.step) throw plan.options.error("promote", "a fit with a step of its own has no single model to serve");
  const std::string metric = Promotion::metric_of(plan);
  try {
    plan.check_metric(metric);
    plan.minimize(metric);
  } catch (const Error& error) {
    Error wrong = rule.error("metric", error.message());
    throw wrong.hint(error.hint());
  }
  if (metric.starts_with("train.")) {
    throw rule.error("metric", "expected a metric of the validation or the test part, found \"" + metric + "\"");
  }
}

void join(const FitPlan& plan, FitMember& member, FitCompany&) {
  if (member.options.given("promote")) member.observers.push_back(std::make_shared<Promotion>(plan, member));
}

}  // namespace

FitAddition promotion_addition() {
  return {
      .options = {Option("promote",
                         "serve the new model where it is not worse than a former one on the same data: the link "
                         "runs/NAME/current then leads to this run (docs/retraining.md)")
                      .fields({Option("metric", "what is compared (default: the monitored metric)").string(),
                               Option("not_worse_than",
                                      "\"current\", the run that is served; \"latest\", the newest other run of this "
                                      "name that has ended")
                                   .choice({"current", "latest"})
                                   .or_default("current"),
                               Option("by", "how much worse the new model may be, in the metric's unit")
                                   .number()
                                   .at_least(0)
                                   .or_default(0.0)})
                      .alone()},
      .callbacks = {},
      .check = check,
      .join = join};
}

}  // namespace trainlab
