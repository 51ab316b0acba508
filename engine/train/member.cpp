#include "train/member.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/printable.h"
#include "core/trace.h"
#include "core/words.h"
#include "finished_curves.h"
#include "fit_handle.h"
#include "journal/reporters.h"
#include "metric_values.h"
#include "run/budget.h"
#include "tensor/memory.h"
#include "train/model_file.h"
#include "train/rules.h"

namespace trainlab {

Member::Member(const FitPlan& plan, const FitMember& fit, Trained& trained, std::size_t index)
    : plan_(plan),
      options_(fit.options),
      context_(fit.context),
      trained_(&trained),
      index_(index),
      key_(Key(static_cast<std::uint64_t>(options_.given("seed") ? options_.integer("seed") : plan.seed))),
      callback_key_(key_.fold("callback").fold(context_.name)),
      base_rate_(plan.step ? 0 : learning_rate(options_.child("optim"))),
      record_(context_),
      handle_(std::make_shared<FitHandle>(this)),
      curve_(plan.minimize(plan.monitor)),
      kept_curves_(std::make_unique<FinishedCurves>(plan_, options_, context_)),
      total_steps_(plan.length.total_steps) {
  list_parts();
  for (const Resumable& part : fit.parts) record_.add(part);
  // A step of the recipe's own has schedules of its own.
  if (plan.step) {
    schedules_.lr = constant_schedule();
  } else {
    schedules_ = schedules_of(options_, "schedule", options_.child("optim"), plan.length, key_);
  }
  for (auto& rule : stop_rules_of(options_, plan, handle_, callback_key_.fold("stop"))) {
    stop_rules_.push_back(std::move(rule));
  }
  stop_rules_.insert(stop_rules_.end(), fit.rules.begin(), fit.rules.end());
  if (options_.given("on")) {
    const Options on = options_.child("on");
    for (const char* name : {"start", "step", "validate", "epoch", "checkpoint", "finish"}) {
      if (on.given(name) && (record_.is_kept() || context_.is_rehearsal || std::string_view(name) == "start"))
        callbacks_[name] = on.function(name);
    }
  }
  if (record_.is_kept() || context_.is_rehearsal) tellers_ = fit.tellers;
  // One bar is enough for a group.
  const ProgressStyle style = !fit.shows_progress ? ProgressStyle::none
                              : index == 0        ? ProgressStyle::bar
                                                  : ProgressStyle::lines;
  record_.watch(
      style, [this] { return trained_->metrics(index_)["train.loss"]; }, fit.observers);
}

Member::~Member() { handle_->release(); }

std::shared_ptr<Object> Member::handle() const { return handle_; }

std::vector<GradientReader*> Member::gradient_readers() const {
  std::vector<GradientReader*> readers;
  for (const auto& rule : stop_rules_)
    if (GradientReader* const reader = rule->gradient_reader()) readers.push_back(reader);
  return readers;
}

Member::StepValues Member::values(std::int64_t step) {
  return {.rate = set_rate_ ? set_rate_->rate : base_rate_ * schedules_.lr->factor(step),
          .momentum = schedules_.momentum ? schedules_.momentum->factor(step) : 1,
          .weight_decay = schedules_.weight_decay ? schedules_.weight_decay->factor(step) : 1};
}

double Member::rate() {
  if (set_rate_) return set_rate_->rate;
  return position_.step > 0 ? last_rate_ : base_rate_ * schedules_.lr->factor(0);
}

void Member::stop(const std::string& reason) {
  constexpr std::size_t longest = 1'000;  // bytes: a recipe gives the reason, and summaries show it
  if (!stop_reason_) stop_reason_ = shortened(reason, longest);
}

void Member::fail(std::string reason) {
  broken_off_.reset();
  failure_ = failure_ ? *failure_ + "; then " + reason : std::move(reason);
  if (record_.is_kept() && best_ && plan_.keep_best)
    record_.checkpoints().commit_best({.step = best_->step, .tensors = best_->weights});
}

double Member::metric(const std::string& name) const {
  if (const auto found = metrics_.find(name); found != metrics_.end()) return found->second;
  plan_.check_watched(name);
  // Only its calls tell what a step of the recipe returns.
  if (plan_.step && name.starts_with("train.") && !metrics_.empty()) {
    const std::string returned = joined(metrics_, ", ", [](const auto& one) { return one.first; });
    throw plan_.options.error(
        name == plan_.monitor ? "monitor" : "",
        "no step has returned \"" + name + "\" until the first validation, whose names are " + returned);
  }
  return std::nan("");
}

Progress Member::progress(const Position& position) const {
  return {.step = position.step,
          .epoch = position.epoch(),
          .seconds = seconds(),
          .total_steps = total_steps_,
          .rate_falls = [this] { return rate_falls(); },
          .metric = [this](const std::string& name) { return metric(name); }};
}

void Member::set_total(std::int64_t total_steps) {
  total_steps_ = total_steps;
  if (plan_.length.total_steps == 0) schedules_.set_total(total_steps);
}

std::int64_t Member::forecast_step() const {
  if (!stop_reason_ || !is_of_budget(*stop_reason_)) return total_steps_;
  // A fit that only a budget bounds has reached its length then.
  return plan_.length.total_steps > 0 ? plan_.length.total_steps : position_.step;
}

bool Member::rate_falls() const {
  const std::int64_t until = forecast_step();
  if (set_rate_ || position_.step == 0 || position_.step >= until) return false;
  return falls_between(*schedules_.lr, position_.step - 1, until);
}

bool Member::may_rate_fall() const { return !set_rate_ && (schedules_.lr->may_fall() || rate_falls()); }

bool Member::is_ended_by_recipe() const { return stop_reason_ && !is_of_budget(*stop_reason_); }

std::optional<Forecast> Member::forecast() const {
  if (total_steps_ == 0) return std::nullopt;
  const std::int64_t length = plan_.length.total_steps, at = std::max(forecast_step(), position_.step);
  const ForecastQuestion question{.at = at,
                                  .length = length,
                                  .at_is_estimate = at != length && at > position_.step,
                                  .keeps_best = plan_.keep_best,
                                  .rate_falls = rate_falls()};
  const std::span<const FinishedCurve> finished = finished_curves_;
  return forecast_of(curve_, plan_.monitor, question, is_ended_by_recipe() ? finished.first(0) : finished);
}

template <class Calls>
void Member::between_steps(const char* where, Calls&& calls) {
  try {
    const NoMemoryBudget own_tensors;  // memory.budget is for what the engine does
    calls();
    // Also that of a loss, a metric, a stop rule or a step of the recipe's own. After the end nothing is saved, and a
    // member that has failed is saved as far as it can be.
    if (!has_ended_ && !failure_ && handle_->state_fault()) throw Error(*handle_->state_fault());
  } catch (...) {
    // Before the first step there is nothing to save, and at the end all is saved.
    if (std::string_view(where) != "start" && !has_ended_) broken_off_ = where;
    throw;
  }
}

void Member::call(const char* callback, const Position& position) {
  const auto found = callbacks_.find(callback);
  between_steps(callback, [&] {
    if (found == callbacks_.end()) return;
    const Span span(Phase::callback, found->first);
    found->second->rekey(callback_key_.fold(callback).fold(static_cast<std::uint64_t>(position.step)));
    const std::vector<Argument> arguments{handle()};
    found->second->call(arguments);
  });
  if (found == callbacks_.end()) return;
  if (broken_off_ == callback) broken_off_.reset();
  write_saves(position);
}

void Member::tell(const Position& position) {
  if (tellers_.empty()) return;
  between_steps("tell", [&] {
    for (const Teller& teller : tellers_) teller(position.step, handle());
  });
  if (broken_off_ == "tell") broken_off_.reset();
  write_saves(position);
}

std::string Member::left_out() const { return handle_->state_fault() ? handle_->state_fault()->path() : ""; }

void Member::start(const Position& position) {
  const std::int64_t step = active() ? position.step : position_.step;  // a resumed member may have stopped before
  position_ = position;
  position_.step = step;
  record_.begin(plan_.fixes.empty() ? 0 : plan_.fixes.back().seconds);
  finished_curves_ = kept_curves_->found();
  if (record_.is_kept()) write_models(plan_, options_, context_.folder);
  double budget = plan_.time_budget;
  if (context_.seconds_left) {
    const double of_run = seconds() + std::max(context_.seconds_left(), 0.0);
    budget = budget > 0 ? std::min(budget, of_run) : of_run;
  }
  const FitView view{.name = context_.name,
                     .total_steps = plan_.length.total_steps,
                     .steps_per_epoch = position.steps_per_epoch,
                     .batch = position.batch,
                     .first_step = position.step,
                     .parameters = plan_.parameter_count(),
                     .monitor = plan_.monitor,
                     .time_budget = budget,
                     .seconds_before = seconds(),
                     .run = handle()};
  for (const auto& observer : record_.observers()) observer->started(view);
  if (position.step == 0) call("start", position);  // a resumed fit has the state that it left behind
}

void Member::stepped(const Position& position, double rate) {
  position_ = position;
  last_rate_ = rate;
  constexpr std::int64_t few = 3;  // a single step may be meant so
  say_that_gradients_add_up(few);
  for (const auto& observer : record_.observers()) {
    if (!observer->wants_step(position.step)) continue;
    observer->stepped({.step = position.step,
                       .epoch = (position.step - 1) / position.steps_per_epoch,
                       .samples = position.samples(),
                       .rate = rate,
                       .total_steps = total_steps_});
  }
  call("step", position);
}

void Member::take_logged(MetricMap& metrics) {
  for (const auto& [name, value] : logged_) metrics[name] = number_of(value);
  logged_.clear();
}

void Member::validated(const Position& position, MetricMap metrics, Value reports, bool ends_epoch) {
  position_ = position;
  validated_step_ = position.step;
  metrics_ = std::move(metrics);
  reports_ = std::move(reports);
  metrics_.merge(trained_->metrics(index_));
  // A fit that leaves nothing was to show its first steps, and may end here.
  if (!record_.is_kept()) say_that_no_weight_moves(1);
  conclude_validation(position, ends_epoch);
}

void Member::conclude_validation(const Position& position, bool ends_epoch) {
  if (broken_off_ == "stop") return ask_rules(position);
  if (broken_off_ != "tell") add_row(position, ends_epoch);
  tell(position);
  ask_rules(position);
}

void Member::add_row(const Position& position, bool ends_epoch) {
  if (broken_off_ != "epoch") {
    call("validate", position);
    take_logged(metrics_);  // since the row before
  }
  if (ends_epoch) {
    epoch_ended(position);
    take_logged(metrics_);
  }

  tell_not_finite(metrics_);
  const double value = metric(plan_.monitor);
  const bool minimize = plan_.minimize(plan_.monitor);
  const bool better = std::isfinite(value) && (!best_ || (minimize ? value < best_->value : value > best_->value));
  if (better) {
    const MemoryCharge charge(MemoryUse::averages);
    best_.reset();  // its memory is enough for the new copy
    best_ = Best{.value = value,
                 .step = position.step,
                 .epoch = position.epoch(),
                 .metrics = metrics_,
                 .reports = reports_,
                 .weights = plan_.keep_best ? trained_->weights(index_) : NamedTensors{}};
  }
  curve_.add(static_cast<double>(position.step), value);
  schedules_.validated(value, minimize);
  trained_->validated(value, minimize);

  ValidationView view{.step = position.step,
                      .epoch = position.epoch(),
                      .samples = position.samples(),
                      .seconds = seconds(),
                      .rate = last_rate_,
                      .total_steps = total_steps_,
                      .best = better,
                      .metrics = metrics_,
                      .forecast = [this] { return forecast(); },
                      .may_rate_fall = [this] { return may_rate_fall(); }};
  Value row = to_value(metrics_);
  row.set("step", view.step);
  row.set("epoch", view.epoch);
  row.set("samples", view.samples);
  row.set("seconds", view.seconds);
  row.set("lr", view.rate);
  record_.append(to_json(row) + "\n");
  for (const auto& observer : record_.observers()) observer->validated(view);
}

void Member::ask_rules(const Position& position) {
  std::vector<Value> before;
  for (const auto& rule : stop_rules_) before.push_back(rule->state());
  std::vector<std::string> reasons;
  try {
    for (const auto& rule : stop_rules_) {
      if (auto reason = rule->validated(progress(position))) reasons.push_back(std::move(*reason));
    }
  } catch (...) {
    // All rules are asked again, and a rule must not count this validation twice.
    for (std::size_t i = 0; i < stop_rules_.size(); ++i) stop_rules_[i]->restore(before[i]);
    broken_off_ = "stop";
    throw;
  }
  for (const std::string& reason : reasons) stop(reason);
  // A rule or a callback that stops the run at a loss that is not finite is the recipe's own answer to such a loss.
  const auto loss = metrics_.find("val.loss");
  if (active() && loss != metrics_.end() && !std::isfinite(loss->second)) {
    fail("the validation loss is not finite at step " + std::to_string(position.step));
  }
  write_saves(position);
}

void Member::tell_not_finite(const MetricMap& metrics) {
  for (const auto& [name, value] : metrics) {
    // A fit whose loss is not finite says so when it fails, or stops for the reason that a rule gives.
    if (name == "train.loss" || name == "val.loss" || !not_finite_.is_first(name, value)) continue;
    std::string text = name + " is " + number_text(value) + " at epoch " + std::to_string(position_.epoch()) +
                       ", step " + std::to_string(position_.step);
    if (name == plan_.monitor) text += "; no such validation is the best one";
    for (const auto& rule : stop_rules_) {
      if (const std::string answer = rule->at_not_finite(name, value); !answer.empty()) text += "; " + answer;
    }
    context_.warn(plan_.options.error("", text).hint("0/0 and log(-1) are NaN, 1/0 and log(0) are infinite").what());
  }
}

void Member::all_validated() {
  for (const auto& rule : stop_rules_) {
    if (const auto reason = rule->all_validated()) stop(*reason);
  }
}

void Member::epoch_ended(const Position& position) {
  if (epoch_step_ == position.step) return;
  epoch_step_ = position.step;
  say_that_no_weight_moves(accumulated_steps);
  call("epoch", position);
}

}  // namespace trainlab
