#include "train/member.h"

#include <ATen/ops/equal.h>

#include <cmath>
#include <utility>

#include "core/printable.h"
#include "core/trace.h"
#include "data/data_hashes.h"
#include "fit_handle.h"
#include "journal/reporters.h"
#include "plan/fit_plan_parts.h"
#include "tensor/named_tensors.h"
#include "train/model_file.h"
#include "train/rules.h"

namespace trainlab {
namespace {

Value to_value(const MetricMap& metrics) {
  Value::Map map;
  for (const auto& [name, value] : metrics) map.emplace(name, value);
  return map;
}

// JSON has no NaN: null reads back as one.
MetricMap to_metrics(const Value& value) {
  MetricMap metrics;
  for (const auto& [name, x] : value.map()) metrics[name] = x.is_nil() ? std::nan("") : x.number();
  return metrics;
}

}  // namespace

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
      handle_(std::make_shared<FitHandle>(this)) {
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
  // One bar is enough for a group.
  const ProgressStyle style = !fit.shows_progress ? ProgressStyle::none
                              : index == 0        ? ProgressStyle::bar
                                                  : ProgressStyle::lines;
  record_.watch(
      style, [this] { return trained_->metrics(index_)["train.loss"]; }, fit.observers);
}

Member::~Member() { handle_->release(); }

std::shared_ptr<Object> Member::handle() const { return handle_; }

Member::StepValues Member::values(std::int64_t step) {
  return {.rate = rate_override_ ? *rate_override_ : base_rate_ * schedules_.lr->factor(step),
          .momentum = schedules_.momentum ? schedules_.momentum->factor(step) : 1,
          .weight_decay = schedules_.weight_decay ? schedules_.weight_decay->factor(step) : 1};
}

double Member::rate() {
  if (rate_override_) return *rate_override_;
  return position_.step > 0 ? last_rate_ : base_rate_ * schedules_.lr->factor(0);
}

void Member::stop(const std::string& reason) {
  constexpr std::size_t longest = 1'000;  // bytes: a recipe gives the reason, and summaries show it
  if (!stop_reason_) stop_reason_ = shortened(reason, longest);
}

void Member::fail(std::string reason) {
  failure_ = std::move(reason);
  if (record_.is_kept() && best_ && plan_.keep_best)
    record_.checkpoints().commit_best({.step = best_->step, .tensors = best_->weights});
}

double Member::metric(const std::string& name) const {
  if (const auto found = metrics_.find(name); found != metrics_.end()) return found->second;
  plan_.check_metric(name);
  return std::nan("");
}

Progress Member::progress(const Position& position) const {
  return {.step = position.step,
          .epoch = position.epoch(),
          .seconds = seconds(),
          .metric = [this](const std::string& name) { return metric(name); }};
}

void Member::call(const char* callback, const Position& position) {
  const auto found = callbacks_.find(callback);
  if (found == callbacks_.end()) return;
  const Span span(Phase::callback, found->first);
  found->second->rekey(callback_key_.fold(callback).fold(static_cast<std::uint64_t>(position.step)));
  const std::vector<Argument> arguments{std::static_pointer_cast<Object>(std::static_pointer_cast<RunHandle>(handle_))};
  found->second->call(arguments);
  write_saves(position);
}

// ------------------------------------------------------------------------------------------------------------- events

void Member::start(const Position& position) {
  position_ = position;
  record_.begin();
  if (record_.is_kept()) write_models(plan_, options_, context_.folder);
  const FitView view{.name = context_.name,
                     .total_steps = plan_.length.total_steps,
                     .steps_per_epoch = position.steps_per_epoch,
                     .batch = position.batch,
                     .first_step = position.step,
                     .parameters = plan_.parameter_count(),
                     .monitor = plan_.monitor,
                     .time_budget = plan_.time_budget,
                     .seconds_before = seconds()};
  for (const auto& observer : record_.observers()) observer->started(view);
  if (position.step == 0) call("start", position);  // a resumed fit has the state that it left behind
}

void Member::stepped(const Position& position, double rate) {
  position_ = position;
  last_rate_ = rate;
  for (const auto& observer : record_.observers()) {
    if (!observer->wants_step(position.step)) continue;
    observer->stepped({.step = position.step,
                       .epoch = (position.step - 1) / position.steps_per_epoch,
                       .samples = position.samples(),
                       .rate = rate});
  }
  if (!callbacks_.empty()) call("step", position);
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
  call("validate", position);
  take_logged(metrics_);  // since the row before
  if (ends_epoch) {
    epoch_ended(position);
    take_logged(metrics_);
  }

  const double value = metric(plan_.monitor);
  const bool minimize = plan_.minimize(plan_.monitor);
  const bool better = std::isfinite(value) && (!best_ || (minimize ? value < best_->value : value > best_->value));
  if (better) {
    best_ = Best{.value = value,
                 .step = position.step,
                 .epoch = position.epoch(),
                 .metrics = metrics_,
                 .reports = reports_,
                 .weights = plan_.keep_best ? trained_->weights(index_) : NamedTensors{}};
  }
  schedules_.validated(value, minimize);
  trained_->validated(value, minimize);

  ValidationView view{.step = position.step,
                      .epoch = position.epoch(),
                      .samples = position.samples(),
                      .seconds = seconds(),
                      .rate = last_rate_,
                      .best = better,
                      .metrics = metrics_};
  Value row = to_value(metrics_);
  row.set("step", view.step);
  row.set("epoch", view.epoch);
  row.set("samples", view.samples);
  row.set("seconds", view.seconds);
  row.set("lr", view.rate);
  record_.append(to_json(row) + "\n");
  for (const auto& observer : record_.observers()) observer->validated(view);
  for (const auto& rule : stop_rules_) {
    if (auto reason = rule->validated(progress(position))) stop(std::move(*reason));
  }
  // A rule, or a callback, that has stopped the run at this is the recipe's own answer to it.
  const auto loss = metrics_.find("val.loss");
  if (active() && loss != metrics_.end() && !std::isfinite(loss->second)) {
    fail("the validation loss is not finite at step " + std::to_string(position.step));
  }
  write_saves(position);
}

void Member::all_validated() {
  for (const auto& rule : stop_rules_) {
    if (auto reason = rule->all_validated()) stop(std::move(*reason));
  }
}

void Member::epoch_ended(const Position& position) {
  if (epoch_step_ == position.step) return;
  epoch_step_ = position.step;
  call("epoch", position);
}

void Member::finished(Value& summary) {
  for (const auto& observer : record_.observers()) observer->finished(summary);
  if (summary["status"] == Value("interrupted")) return;
  if (callbacks_.contains("finish")) restore_kept();
  call("finish", position_);
  if (logged_.empty()) return;
  MetricMap logged;
  take_logged(logged);
  Value metrics = summary["metrics"];
  for (const auto& [name, value] : logged) metrics.set(name, value);
  summary.set("metrics", std::move(metrics));
  record_.amend(to_value(logged));
}

// -------------------------------------------------------------------------------------------------------- checkpoints

void Member::list_parts() {
  const auto plain = [this](const char* name, auto Member::*field, auto read) {
    record_.add(
        {.name = name,
         .state = [this, field] { return Value(this->*field); },
         .restore = [this, field, read](const Value& state, const NamedTensors&) { this->*field = read(state); }});
  };
  // A key that is there only while there is a text.
  const auto text = [this](const char* name, std::optional<std::string> Member::*field, bool ends_with_extension) {
    record_.add({.name = name,
                 .state = [this, field] { return this->*field ? std::optional<Value>(*(this->*field)) : std::nullopt; },
                 .restore =
                     [this, field, ends_with_extension](const Value& state, const NamedTensors&) {
                       if (!state.is_nil() && !(ends_with_extension && is_extended_)) this->*field = state.string();
                     }});
  };
  // First, because the parts after it are restored in another way when the fit has become longer.
  record_.add({.name = "total_steps",
               .state = [this] { return Value(plan_.length.total_steps); },
               .restore =
                   [this](const Value& state, const NamedTensors&) {
                     check_extension(state.integer());
                     is_extended_ = state.integer() != plan_.length.total_steps;
                   }});
  record_.add({.name = "time_budget",
               .state = [this]() -> std::optional<Value> {
                 return plan_.time_budget > 0 ? std::optional<Value>(plan_.time_budget) : std::nullopt;
               },
               .restore =
                   [this](const Value& state, const NamedTensors&) {
                     if (!state.is_number()) return;
                     const RunSettings& settings = *context_.settings;
                     // The run may have been extended before, beyond the budget of the recipe.
                     if (settings.extends_now && settings.extended->unit == "time")
                       check_more_time(settings, state.number());
                     if (state.number() != plan_.time_budget) is_extended_ = true;
                   }});
  record_.add({.name = "data",
               .state = [this] { return part_sizes(); },
               .tensors =
                   [this] {
                     NamedTensors all;
                     add_below(all, "data.", plan_.data.state);
                     return all;
                   }});
  record_.add({.name = "data_hashes",
               .state = [this] { return data_hashes(plan_.data); },
               .restore =
                   [this](const Value& before, const NamedTensors&) {
                     if (before.is_nil() || !context_.clone_of.empty()) return;  // of an earlier version; of other data
                     const std::string changed = changed_columns(before, data_hashes(plan_.data));
                     if (changed.empty()) return;
                     context_.say("not byte-exact: the data has changed since the last checkpoint (" + changed +
                                  "); the rest of this fit trains on other data than its beginning");
                   }});
  record_.add({.name = "weights and optimizer",
               .tensors = [this] { return trained_->tensors(index_); },
               .restore = [this](const Value&, const NamedTensors& tensors) { trained_->restore(index_, tensors); }});
  record_.add(
      {.name = "train_loss",
       .state = [this] { return trained_->progress(index_); },
       .restore = [this](const Value& state, const NamedTensors&) { trained_->restore_progress(index_, state); }});
  record_.add({.name = "averaged", .state = [this] { return Value(trained_->averaged(index_)); }});
  plain("validated_step", &Member::validated_step_, [](const Value& v) { return v.integer(); });
  plain("lr", &Member::last_rate_, [](const Value& v) { return v.number(); });
  plain("reports", &Member::reports_, [](const Value& v) { return v; });
  record_.add({.name = "metrics",
               .state = [this] { return to_value(metrics_); },
               .restore = [this](const Value& state, const NamedTensors&) { metrics_ = to_metrics(state); }});
  record_.add({.name = "logged",
               .state =
                   [this] {
                     Value::Map logged;
                     for (const auto& [name, value] : logged_) logged[name] = number_of(value);
                     return Value(std::move(logged));
                   },
               .restore =
                   [this](const Value& state, const NamedTensors&) {
                     for (const auto& [name, value] : to_metrics(state)) logged_.insert_or_assign(name, value);
                   }});
  record_.add({.name = "schedule",
               .state = [this] { return schedules_.state(); },
               .restore = [this](const Value& state, const NamedTensors&) { schedules_.restore(state); }});
  // A run that was extended since goes on, whatever stopped it before, and its rules count anew.
  record_.add({.name = "stop_rules",
               .state =
                   [this] {
                     Value::List rules;
                     for (const auto& rule : stop_rules_) rules.push_back(rule->state());
                     return Value(std::move(rules));
                   },
               .restore =
                   [this](const Value& state, const NamedTensors&) {
                     if (!is_extended_) restore_rules(state.list());
                   }});
  text("stop_reason", &Member::stop_reason_, true);
  text("failure", &Member::failure_, false);
  record_.add({.name = "best",
               .state = [this]() -> std::optional<Value> {
                 if (!best_) return std::nullopt;
                 return Value::Map{{"value", best_->value},
                                   {"step", best_->step},
                                   {"epoch", best_->epoch},
                                   {"metrics", to_value(best_->metrics)},
                                   {"reports", best_->reports}};
               },
               .restore =
                   [this](const Value& best, const NamedTensors&) {
                     if (best.is_nil()) return;
                     best_ = Best{.value = best["value"].number(),
                                  .step = best["step"].integer(),
                                  .epoch = best["epoch"].integer(),
                                  .metrics = to_metrics(best["metrics"]),
                                  .reports = best["reports"],
                                  .weights = {}};
                   }});
  record_.add({.name = "lr_override",
               .state = [this] { return rate_override_ ? std::optional<Value>(*rate_override_) : std::nullopt; },
               .restore =
                   [this](const Value& state, const NamedTensors&) {
                     if (!state.is_nil()) rate_override_ = state.number();
                   }});
  const auto read = std::make_shared<ScriptState>();  // between the two questions of one checkpoint
  const auto on_device = std::make_shared<Value>();
  record_.add({.name = "state",
               .state =
                   [this, read, on_device] {
                     *read = handle_->read_state ? handle_->read_state() : handle_->state;
                     *on_device = names_on_device(read->tensors);
                     return read->value;
                   },
               .tensors =
                   [read] {
                     NamedTensors all;
                     add_below(all, "state.", std::exchange(*read, {}).tensors);
                     return all;
                   },
               .restore =
                   [this](const Value& state, const NamedTensors& tensors) {
                     handle_->state = {state, tensors_below(tensors, "state.")};
                   }});
  record_.add(
      {.name = "state_on_device",
       .state = [on_device] { return on_device->is_nil() ? std::nullopt : std::optional(*on_device); },
       .restore = [this](const Value& names,
                         const NamedTensors&) { take_to_device(handle_->state.tensors, names, plan_.device); }});
  // Less than the checkpoint's step for a member of a group that has stopped.
  record_.add({.name = "own_step",
               .state = [this] { return Value(position_.step); },
               .restore = [this](const Value& state, const NamedTensors&) { position_.step = state.integer(); }});
}

void Member::restore_rules(const Value::List& states) {
  const bool may_differ = context_.settings && context_.settings->is_mended;
  if (may_differ && states.size() != stop_rules_.size()) return;
  for (std::size_t i = 0; i < stop_rules_.size(); ++i) {
    try {
      stop_rules_[i]->restore(states.at(i));
    } catch (const std::logic_error&) {  // the state of another kind of rule
      if (!may_differ) throw;
    }
  }
}

bool Member::commit(const Position& position) {
  call("checkpoint", position);  // before it is written, so that what it leaves in run.state is part of it
  Checkpoint checkpoint{.step = position.step, .tensors = {}, .info = {}, .best = {}};
  checkpoint.info.set("epoch", position.epoch());
  checkpoint.info.set("position", position.in_epoch());
  checkpoint.info.set("samples", position.samples());
  if (best_ && plan_.keep_best) checkpoint.best = BestWeights{.step = best_->step, .tensors = best_->weights};
  return record_.commit(std::move(checkpoint));
}

void Member::write_saves(const Position& position) {
  if (!record_.is_kept()) saves_.clear();
  for (const std::string& name : saves_) {
    Value info;
    info.set("step", position.step);
    info.set("metrics", to_value(metrics_));
    record_.checkpoints().save(name, trained_->weights(index_), info);
  }
  saves_.clear();
}

Value Member::part_sizes() const {
  Value sizes;
  sizes.set("train", plan_.data.train.epoch_size());
  if (plan_.data.val) sizes.set("val", plan_.data.val->size());
  if (plan_.data.test) sizes.set("test", plan_.data.test->size());
  return sizes;
}

// The data must be what the run began with: its sizes, and what was measured on it.
void Member::check_data(const Checkpoint& checkpoint) const {
  bool same = checkpoint.info["data"] == part_sizes();
  for (const auto& [name, tensor] : plan_.data.state) {
    const auto found = checkpoint.tensors.find("data." + name);
    same = same && found != checkpoint.tensors.end() && at::equal(found->second, tensor);
  }
  if (same) return;
  throw record_.misfit("the data differs from the data of the run so far: found parts of " + to_json(part_sizes()) +
                           ", or their statistics, other than " + to_json(checkpoint.info["data"]),
                       "put the files back as they were, or begin a new run");
}

// `before`: the steps that the run was to have when the checkpoint was written.
void Member::check_extension(std::int64_t before) const {
  if (!context_.settings->extends_now || context_.settings->extended->unit == "time") return;
  if (plan_.time_budget > 0) {
    throw usage_error("expected a run bounded by epochs or steps, found one with a budget of time")
        .hint("trainlab extend RUN --time TIME");
  }
  if (plan_.length.total_steps > before) return;
  const NewTotal& wanted = *context_.settings->extended;
  const double unit = wanted.unit == "epochs" ? static_cast<double>(plan_.length.steps_per_epoch) : 1;
  throw usage_error("expected a total of more than the " + number_text(static_cast<double>(before) / unit) + " " +
                    wanted.unit + " of the run, found " + wanted.text())
      .hint("extend takes the new total, not the length to add");
}

std::int64_t Member::resume() {
  const std::optional<Checkpoint> found = record_.newest("the first step");
  if (!found) return 0;
  check_data(*found);
  record_.resume(*found);
  if (best_ && found->best) {
    best_->weights = found->best->tensors;
  } else if (plan_.keep_best) {
    best_.reset();  // damaged: the next validation is the best so far
  }
  return found->step;
}

// ------------------------------------------------------------------------------------------------------------ the end

void Member::restore_kept() {
  if (plan_.keep_best && best_) {
    trained_->load_weights(index_, best_->weights);
  } else if (trained_->averaged(index_)) {
    trained_->load_weights(index_, trained_->weights(index_));
  }
}

Value Member::summary(const MetricMap& test, const Value& test_reports) const {
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
  summary.set("steps", position_.step);
  summary.set("samples", position_.samples());
  summary.set("parameters", plan_.parameter_count());
  // What a step of the recipe's own computes is its own affair.
  const Flops flops = plan_.step ? Flops{std::nan(""), std::nan("")} : plan_.model->flops();
  summary.set("flops", (flops.forward + flops.backward) * static_cast<double>(position_.samples()));
  summary.set("seconds", seconds());
  summary.set("resumed", record_.resumed());
  if (failure_) {
    summary.set("status", "failed");
    summary.set("reason", *failure_);
  } else if (stop_reason_) {
    summary.set("status", "stopped");
    summary.set("reason", *stop_reason_);
  } else {
    summary.set("status", "done");
    summary.set("reason", "reached its length");
  }
  return summary;
}

}  // namespace trainlab
