#include "try_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "core/clock.h"
#include "train/fit.h"

namespace trainlab {
namespace {

using Metrics = std::map<std::string, double>;

Metrics metrics_below(const std::string& prefix, const Metrics& all) {
  Metrics metrics;
  for (const auto& [name, value] : all) {
    if (name.starts_with(prefix)) metrics.emplace(name, value);
  }
  return metrics;
}

std::string metrics_text(const char* what, const Metrics& metrics, double seconds) {
  std::string text = fmt::format("{:<20}", what);
  for (const auto& [name, value] : metrics) text += fmt::format(" {} {:.4g},", name, value);
  return text + fmt::format(" {:.3g} ms\n", 1e3 * seconds);
}

Value metrics_facts(const Metrics& metrics, double seconds) {
  return Value::Map{{"metrics", Value::Map(metrics.begin(), metrics.end())}, {"seconds", seconds}};
}

// The calls that a step function forgets, for the text and the facts of a check.
class Forgotten final : public Observer {
 public:
  void forgot(const std::string& warning) override { warnings_.emplace_back(warning); }
  void add(Checked& checked) const {
    for (const Value& warning : warnings_) checked.text += "warning: " + warning.string() + "\n";
    if (!warnings_.empty()) checked.facts.set("warnings", warnings_);
  }

 private:
  Value::List warnings_;
};

// Measures the first step of a fit and the validation after it, and then leaves the fit.
class FirstStep final : public Observer, public LoopObserver {
 public:
  using Observer::started, Observer::stepped;

  void started(std::int64_t, std::size_t) override { begun_ = stepped_ = steady_seconds(); }
  void stepped(std::int64_t) override { stepped_ = steady_seconds(); }
  void validated(const ValidationView& view) override { metrics_ = view.metrics; }
  // The loop also tells a validation at which the fit has failed. Such a fit ends by itself and says why.
  void validated(std::int64_t) override {
    validated_ = steady_seconds();
    if (metrics_) throw SeenEnough();
  }

  // Without a validation where the fit has none, or has ended before.
  Checked tried() const {
    const Metrics all = metrics_.value_or(Metrics());
    const Metrics training = metrics_below("train.", all), validation = metrics_below("val.", all);
    Checked tried{.text = metrics_text("one training step", training, stepped_ - begun_),
                  .facts = Value::Map{{"training", metrics_facts(training, stepped_ - begun_)}}};
    if (!validation.empty()) {
      tried.text += metrics_text("one validation", validation, validated_ - stepped_);
      tried.facts.set("validation", metrics_facts(validation, validated_ - stepped_));
    }
    return tried;
  }

 private:
  std::optional<Metrics> metrics_;                  // once the fit is validated
  double begun_ = 0, stepped_ = 0, validated_ = 0;  // readings of steady_seconds()
};

}  // namespace

Checked try_step(FitPlan& plan) {
  const std::int64_t before = std::exchange(plan.validate_every, 1);
  // A fit that ends before its first validation would measure the whole test part.
  std::optional<Part> test = std::exchange(plan.data.test, std::nullopt);
  const auto first = std::make_shared<FirstStep>();
  const auto forgotten = std::make_shared<Forgotten>();
  const FitMember member{.options = plan.options,
                         .context = silent_context(plan.options),
                         .observers = {first, forgotten},
                         .shows_progress = false};
  Value end;
  try {
    end = run_fits(plan, {&member, 1}, false, {.observers = {first}, .passes = {}}).front()["reason"];
  } catch (const SeenEnough&) {
    // The first validation is done.
  }
  plan.validate_every = before;
  plan.data.test = std::move(test);
  Checked tried = first->tried();
  if (end.is_string()) {
    tried.text += "the fit would end here: " + end.string() + "\n";
    tried.facts.set("end", end);
  }
  forgotten->add(tried);
  return tried;
}

namespace {

constexpr std::int64_t few = 8;  // samples of a batch

// The first samples of a part, in the place of the part.
void cut(Part& part, std::int64_t count) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < std::min(count, part.size()); ++i) rows.push_back(part.row(i));
  part.rows = std::make_shared<const std::vector<std::int64_t>>(std::move(rows));
  part.draws = nullptr;
}

// The fit's first epoch is over, and with it the trial.
class EndsTrial final : public StopRule {
 public:
  std::optional<std::string> validated(const Progress&) override { return "the trial has ended"; }
};

std::string function_names(const Options& fit) {
  std::string names;
  if (fit.given("on")) {
    for (const std::string& name : fit.child("on").names()) names += "on." + name + ", ";
  }
  return (names.empty() ? "" : names + "and ") + "all functions that compute";
}

}  // namespace

Checked try_callbacks(FitPlan plan) {
  const std::int64_t batch = std::min({plan.loader.batch, few, plan.data.train.size()});
  cut(plan.data.train, plan.data.train.size() < 2 * batch ? batch : 2 * batch);
  if (plan.data.val) cut(*plan.data.val, few);
  if (plan.data.test) cut(*plan.data.test, few);
  plan.loader.batch = batch;
  // The whole length stays what it is, because schedules and averages may name steps of it.
  plan.length.batch = batch * plan.accumulate;
  plan.length.steps_per_epoch = (plan.data.train.size() / batch + plan.accumulate - 1) / plan.accumulate;
  plan.validate_every = plan.length.steps_per_epoch;
  StageContext context = silent_context(plan.options);
  context.is_rehearsal = true;
  const auto forgotten = std::make_shared<Forgotten>();
  FitMember member{.options = plan.options,
                   .context = std::move(context),
                   .rules = {std::make_shared<EndsTrial>()},
                   .observers = {forgotten}};
  for (const FitAddition& addition : additions_of(plan.options)) {
    if (!addition.rehearse) continue;
    for (Teller& teller : addition.rehearse(plan)) member.tellers.push_back(std::move(teller));
  }
  const Value summary = run_fits(plan, {&member, 1}, false).front();
  if (summary["status"] == Value("failed")) {
    return {.text = "the functions of the recipe were called on a few samples, and the fit would fail there: " +
                    summary["reason"].string() + "\n",
            .facts = Value::Map{{"failed", summary["reason"]}}};
  }
  Checked called{.text = fmt::format("{:<20} {}: called on {} training samples without an error\n", "functions",
                                     function_names(plan.options), plan.data.train.size()),
                 .facts = Value::Map{{"samples", plan.data.train.size()}}};
  forgotten->add(called);
  return called;
}

}  // namespace trainlab
