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

// The member promotion_key of the summary.
struct Decision {
  std::string metric;
  double value = 0;                        // value of the new model
  fs::path rival = {};                     // the run of the other model; empty: there is no other model
  std::optional<double> rival_value = {};  // its value on the same data; nullopt where it cannot be measured
  bool is_promoted = false;
  std::string reason;
  std::string serves = {};    // the run to which the link will lead, by its name; empty: the link stays
  std::string replaces = {};  // the run in whose place this run is served, or would be; empty: none

  Value to_value() const {
    Value compared;
    if (!rival.empty()) compared.set("run", rival.string());
    if (rival_value) compared.set("value", *rival_value);
    Value all = Value::Map{{"metric", metric},
                           {"value", value},
                           {"promoted", is_promoted},
                           {"rival", std::move(compared)},
                           {"reason", reason}};
    if (!serves.empty()) all.set("serves", serves);
    if (!replaces.empty()) all.set("replaces", replaces);
    return all;
  }
};

// Whether a link beside this run says which of the runs of a name is served.
bool has_link(const fs::path& run) { return run_number(run.filename().string()).has_value(); }

std::string name_beside(const fs::path& served, const fs::path& run) {
  return served.empty() ? "" : served.lexically_proximate(run.parent_path()).string();
}

// The run of this name, of which name_beside() has given the name.
fs::path beside(const std::string& name, const fs::path& run) { return (run.parent_path() / name).lexically_normal(); }

class Promotion final : public Observer {
 public:
  Promotion(const FitPlan& plan, const FitMember& member)
      : plan_(plan),
        rule_(member.options.child("promote")),
        run_(find_run(member.context.folder)),
        stage_(member.context.name),
        metric_(metric_of(plan)),
        before_(read_summary(member.context.folder)[promotion_key]) {
    if (has_link(run_)) served_beside(run_);  // raises before the training where the link's name is taken
  }

  static std::string metric_of(const FitPlan& plan) {
    const Options rule = plan.options.child("promote");
    return rule.given("metric") ? rule.string("metric") : plan.monitor;
  }

  void add_to(Value& summary) override {
    if (!is_finished(summary)) return;
    if (!decision_) decision_ = decide(summary["metrics"][metric_]);
    summary.set(promotion_key, decision_->to_value());
  }

  // Whether there is another model to be measured. Where that cannot be told, the time for it is kept.
  bool has_rival() const {
    if (!has_link(run_)) return false;
    try {
      return !rival(served_beside(run_)).empty();
    } catch (const Error&) {
      return true;
    }
  }

 private:
  // Whether the other model is that of the newest run, and not the one that is served.
  bool is_by_latest() const { return rule_.string("not_worse_than") == "latest"; }

  // The run in whose place this run has been served since it ended for the first time; empty where there is none.
  fs::path replaced() const {
    const Value& name = before_["replaces"];
    return name.is_string() ? beside(name.string(), run_) : fs::path();
  }

  // The run that is served but for this run, where `served` is the run that is served.
  fs::path former(const fs::path& served) const { return served == run_ ? replaced() : served; }

  // The run of the other model; empty where there is none.
  fs::path rival(const fs::path& served) const { return is_by_latest() ? latest_beside(run_) : former(served); }

  Decision decide(const Value& measured) const {
    Decision decision{
        .metric = metric_, .value = measured.is_number() ? measured.number() : std::nan(""), .reason = {}};
    if (!has_link(run_)) {
      decision.reason = "the run has a folder of its own, and is none of the runs of a name, of which one is served";
      return decision;
    }
    fs::path served;
    try {
      served = served_beside(run_);
      decision.replaces = name_beside(former(served), run_);
      decision.rival = rival(served);
    } catch (const Error& error) {
      decision.reason = "the run with which it was to be compared cannot be told: " + error.message();
      return decision;
    }
    compare(decision);
    if (decision.is_promoted && served != run_) decision.serves = run_.filename().string();
    // Its training went on, and has made it worse.
    std::error_code ignored;
    if (!decision.is_promoted && served == run_ && (decision.rival_value || !std::isfinite(decision.value)) &&
        fs::exists(beside(decision.replaces, run_), ignored))
      decision.serves = decision.replaces;
    return decision;
  }

  // Measures the rival, and decides.
  void compare(Decision& decision) const {
    const std::string own = fmt::format("{} {:.4g}", metric_, decision.value);
    if (!std::isfinite(decision.value)) {
      decision.reason = own + " is no number";
      return;
    }
    if (decision.rival.empty()) {
      decision.is_promoted = true;
      decision.reason = own + (is_by_latest() ? ", and no other run has ended" : ", and no other run was served");
      return;
    }
    try {
      if (!is_there(decision.rival, decision.rival)) {
        decision.is_promoted = true;
        decision.reason = own + ", and " + decision.rival.string() + ", with which it was to be compared, is gone";
        return;
      }
      decision.rival_value = with_torch_errors([&] { return metric_of_run(plan_, decision.rival, stage_, metric_); });
    } catch (const Error& error) {
      decision.reason =
          "the model in " + decision.rival.string() + " cannot be measured on this data: " + error.message();
      return;
    }
    const double gain = (decision.value - *decision.rival_value) * (plan_.minimize(metric_) ? -1 : 1);
    // A model that has no value on this data any more serves nobody.
    decision.is_promoted = !std::isfinite(*decision.rival_value) || gain >= -rule_.number("by");
    decision.reason =
        fmt::format("{}, and {:.4g} of {} on the same data", own, *decision.rival_value, decision.rival.string());
  }

  const FitPlan& plan_;
  Options rule_;
  fs::path run_;
  std::string stage_;
  std::string metric_;
  Value before_;  // the promotion in the summary of a run that goes on
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
  if (!member.options.given("promote")) return;
  const auto promotion = std::make_shared<Promotion>(plan, member);
  if (promotion->has_rival()) member.evaluated_at_end.push_back(&part_of(plan, Promotion::metric_of(plan)));
  member.observers.push_back(promotion);
}

// The link moves only from the run to which it led when the models were compared.
std::string publish(const Value& summary, const fs::path& run) {
  const Value& promotion = summary[promotion_key];
  if (!promotion["reason"].is_string()) return "";
  const std::string reason = promotion["reason"].string();
  if (!promotion["serves"].is_string())
    return (promotion["promoted"] == Value(true) ? "still served: " : "not promoted: ") + reason;
  const fs::path served = beside(promotion["serves"].string(), run);
  const Value& replaces = promotion["replaces"];
  const std::string now = name_beside(served_beside(run), run);
  const std::string before = served != run ? run.filename().string() : replaces.is_string() ? replaces.string() : "";
  const bool is_served = now == promotion["serves"].string();  // by a process that was killed before it noted this
  if (now != before && !is_served) {
    return "not promoted: the link has been " + (now.empty() ? "removed" : "moved to " + now) +
           " since the models were compared";
  }
  if (!is_served) serve_beside(run, served);
  return (served == run ? "promoted: " : "no longer served: ") + reason;
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
      .join = join,
      .publish = publish};
}

}  // namespace trainlab
