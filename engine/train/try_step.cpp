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

// Measures the first step of a fit and the validation after it, and then leaves the fit.
class FirstStep final : public Observer, public LoopObserver {
 public:
  using Observer::started, Observer::stepped;

  void started(std::int64_t, std::size_t) override { begun_ = steady_seconds(); }
  void stepped(std::int64_t) override { stepped_ = steady_seconds(); }
  void validated(const ValidationView& view) override { metrics_ = view.metrics; }
  // The loop also tells a validation at which the fit has failed. Such a fit ends by itself and says why.
  void validated(std::int64_t) override {
    validated_ = steady_seconds();
    if (metrics_) throw SeenEnough();
  }

  std::string text() const {
    std::string text = line("one training step", "train.", stepped_ - begun_);
    const auto is_of_validation = [](const auto& metric) { return metric.first.starts_with("val."); };
    return metrics_ && std::ranges::any_of(*metrics_, is_of_validation)
               ? text + line("one validation", "val.", validated_ - stepped_)
               : text;
  }

 private:
  std::string line(std::string_view what, std::string_view prefix, double seconds) const {
    std::string text = fmt::format("{:<20}", what);
    for (const auto& [name, value] : metrics_.value_or(std::map<std::string, double>())) {
      if (name.starts_with(prefix)) text += fmt::format(" {} {:.4g},", name, value);
    }
    return text + fmt::format(" {:.3g} ms\n", 1e3 * std::max(seconds, 0.0));
  }

  std::optional<std::map<std::string, double>> metrics_;  // once the fit is validated
  double begun_ = 0, stepped_ = 0, validated_ = 0;        // readings of steady_seconds()
};

}  // namespace

std::string try_step(FitPlan& plan) {
  const std::int64_t before = std::exchange(plan.validate_every, 1);
  const auto first = std::make_shared<FirstStep>();
  const FitMember member{
      .options = plan.options, .context = silent_context(plan.options), .observers = {first}, .shows_progress = false};
  std::string end;
  try {
    const Value summary = run_fits(plan, {&member, 1}, false, {.observers = {first}, .passes = {}}).front();
    end = "the fit would end here: " + summary["reason"].string() + "\n";
  } catch (const SeenEnough&) {
    // The first validation is done.
  }
  plan.validate_every = before;
  return first->text() + end;
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

std::string try_callbacks(FitPlan plan) {
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
  const FitMember member{
      .options = plan.options, .context = std::move(context), .rules = {std::make_shared<EndsTrial>()}};
  const Value summary = run_fits(plan, {&member, 1}, false).front();
  if (summary["status"] == Value("failed"))
    return "the functions of the recipe were called on a few samples, and the fit would fail there: " +
           summary["reason"].string() + "\n";
  return fmt::format("{:<20} {}: called on {} training samples without an error\n", "functions",
                     function_names(plan.options), plan.data.train.size());
}

}  // namespace trainlab
