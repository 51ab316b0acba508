// The end of a member: the weights that are kept, the summary, and what the recipe's function adds to the summary.
#include <cmath>
#include <utility>

#include "core/words.h"
#include "finished_curves.h"
#include "forecast/efficiency.h"
#include "metric_values.h"
#include "tensor/types.h"
#include "train/member.h"

namespace trainlab {

void Member::restore_kept() {
  if (plan_.keep_best && best_) {
    trained_->load_weights(index_, best_->weights);
  } else if (trained_->averaged(index_)) {
    trained_->load_weights(index_, trained_->weights(index_));
  }
}

// `metrics`: those of the weights that are kept.
Efficiency Member::efficiency(const MetricMap& metrics) const {
  const auto value = [&](const char* name) {
    const auto found = metrics.find(name);
    return found == metrics.end() ? std::nullopt : std::optional<double>(found->second);
  };
  const bool kept_best = plan_.keep_best && best_;
  Position kept = position_;
  if (kept_best) kept.step = best_->step;
  const Part& data = plan_.data.train;
  return efficiency_of({.curve = curve_,
                        .steps = static_cast<double>(position_.step),
                        .best_step = kept_best ? std::optional(static_cast<double>(best_->step)) : std::nullopt,
                        .passes = static_cast<double>(kept.samples()) / static_cast<double>(data.size()),
                        .repeats_data = !data.augmentation && data.transforms.empty(),
                        .train_loss = value("train.loss"),
                        .val_loss = value("val.loss")});
}

Value Member::summary(const MetricMap& test, const Value& test_reports, bool interrupted) const {
  const bool kept_best = plan_.keep_best && best_;
  MetricMap metrics = kept_best ? best_->metrics : metrics_;
  metrics.insert(test.begin(), test.end());
  Value summary;
  summary.set("metrics", to_value(metrics));
  Value reports = kept_best ? best_->reports : reports_;
  if (!test_reports.is_nil()) {
    for (const auto& [name, report] : test_reports.map()) reports.set(name, report);
  }
  if (!reports.is_nil()) summary.set("reports", std::move(reports));
  if (best_) {
    Value best;
    best.set("metric", plan_.monitor);
    best.set("value", best_->value);
    best.set("epoch", best_->epoch);
    best.set("step", best_->step);
    summary.set("best", std::move(best));
  }
  if (const std::optional<Forecast> last = forecast(); last && !failure_) summary.set("forecast", to_value(*last));
  if (!failure_ && !interrupted && position_.step > 0) summary.set("efficiency", to_value(efficiency(metrics)));
  summary.set("steps", position_.step);
  summary.set("samples", position_.samples());
  summary.set("parameters", plan_.parameter_count());
  summary.set("flops", plan_.sample_flops() * static_cast<double>(position_.samples()));
  const Scaling scaling = trained_->scaling(index_);
  summary.set("precision", Value::Map{{"weights", dtype_name(plan_.precision.weights)},
                                      {"compute", dtype_name(plan_.precision.compute)},
                                      {"skipped_steps", scaling.skipped_steps},
                                      {"scale", scaling.scale}});
  summary.set("seconds", seconds());
  summary.set("resumed", record_.resumed());
  if (plan_.step) summary.set("own_step", true);
  if (failure_) {
    summary.set("status", "failed");
    summary.set("reason", *failure_);
  } else if (interrupted) {
    summary.set("status", "interrupted");
    summary.set("reason", "asked to stop at step " + std::to_string(position_.step));
  } else if (stop_reason_) {
    summary.set("status", "stopped");
    summary.set("reason", *stop_reason_);
  } else {
    summary.set("status", "done");
    summary.set("reason", "reached its length");
  }
  for (const auto& observer : record_.observers()) observer->add_to(summary);
  return summary;
}

void Member::say_that_no_best_was_kept() const {
  const Error never = plan_.options.error(
      "", plan_.monitor + " was a number at no validation, so there are no best weights: the last weights are kept");
  context_.warn(never.what());
}

void Member::say_what_the_average_lacks() const {
  const std::optional<std::int64_t> updates = trained_->average_updates(index_);
  if (!updates || *updates > 1) return;
  const std::string what =
      *updates == 0 ? "never began, because the fit ended before its first update: the trained weights are kept"
                    : "is of one point of the fit, which ended before a second update";
  context_.warn(plan_.options.child("ema")
                    .error("", "the average " + what)
                    .hint("an earlier start, or less time between two updates")
                    .what());
}

void Member::say_that_no_weight_moves(std::int64_t least) {
  const std::int64_t steps = trained_->still_steps();
  if (has_said_that_no_weight_moves_ || steps < least) return;
  has_said_that_no_weight_moves_ = true;
  say_what_the_step_forgets("after " + counted(steps, "step") + " no weight has changed",
                            steps < accumulated_steps ? "; gradients may also add up over more steps than these" : "");
}

void Member::say_that_gradients_add_up(std::int64_t least) {
  if (has_said_that_gradients_add_up_ || trained_->steps_on_used_gradients() < least) return;
  has_said_that_gradients_add_up_ = true;
  say_what_the_step_forgets(
      "the optimizer steps with gradients to which those of its step before still belong, because they were not "
      "deleted",
      "");
}

void Member::say_what_the_step_forgets(const std::string& fault, const std::string& hint) const {
  const Error warning =
      plan_.options.error("step", fault)
          .hint(
              "the function takes the optimizer's steps itself: run.optim:zero_grad(); loss:backward(); "
              "run.optim:step()" +
              hint);
  context_.warn(warning.what());
  for (const auto& observer : record_.observers()) observer->forgot(warning.what());
}

void Member::finished(Value& summary) {
  for (const auto& observer : record_.observers()) observer->finished(summary);
  if (summary["status"] == Value("interrupted")) return;
  if (summary["status"] == Value("done") || (!failure_ && is_ended_by_recipe())) kept_curves_->keep(curve_);
  if (plan_.keep_best && !best_ && !failure_ && !metrics_.empty()) say_that_no_best_was_kept();
  if (!failure_) {
    say_what_the_average_lacks();
    say_that_no_weight_moves(1);
    say_that_gradients_add_up(1);
  }
  if (validated_step_ != position_.step) logged_.clear();  // of steps after the last row, in a fit that has failed
  has_ended_ = true;
  if (callbacks_.contains("finish") || !tellers_.empty()) restore_kept();
  tell(position_);
  call("finish", position_);
  if (logged_.empty()) return;
  MetricMap logged;
  take_logged(logged);
  Value metrics = summary["metrics"];
  for (const auto& [name, value] : logged) metrics.set(name, value);
  summary.set("metrics", std::move(metrics));
  record_.amend(to_value(logged));
}

}  // namespace trainlab
