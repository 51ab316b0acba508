#include "train/member.h"

#include <ATen/ops/equal.h>

#include <cmath>

#include "core/clock.h"
#include "core/trace.h"
#include "fit_handle.h"
#include "journal/reporters.h"
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
      handle_(std::make_shared<FitHandle>(this)) {
  if (has_folder()) checkpoints_.emplace(context_.folder / "checkpoints", context_.say);
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
      if (on.given(name) && (has_folder() || std::string_view(name) == "start")) callbacks_[name] = on.function(name);
    }
  }
  // One bar is enough for a group.
  const ProgressStyle style = !fit.shows_progress ? ProgressStyle::none
                              : index == 0        ? ProgressStyle::bar
                                                  : ProgressStyle::lines;
  if (has_folder()) observers_ = stage_observers(context_, style, [this] { return trained_->metrics(index_)["train.loss"]; });
  observers_.insert(observers_.end(), fit.observers.begin(), fit.observers.end());
}

Member::~Member() { handle_->release(); }

std::shared_ptr<Object> Member::handle() const { return handle_; }

Member::StepValues Member::values(std::int64_t step) {
  return {.rate = rate_override_ ? *rate_override_ : base_rate_ * schedules_.lr->factor(step),
          .momentum = schedules_.momentum ? schedules_.momentum->factor(step) : 1,
          .weight_decay = schedules_.weight_decay ? schedules_.weight_decay->factor(step) : 1};
}

void Member::stop(std::string reason) {
  if (!stop_reason_) stop_reason_ = std::move(reason);
}

void Member::fail(std::string reason) {
  failure_ = std::move(reason);
  if (checkpoints_ && best_ && plan_.keep_best) checkpoints_->commit_best({.step = best_->step, .tensors = best_->weights});
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

double Member::seconds() const { return started_ == 0 ? seconds_before_ : seconds_before_ + steady_seconds() - started_; }

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
  started_ = steady_seconds();
  if (has_folder()) {
    rows_ = std::make_unique<AppendFile>(context_.folder / "metrics.jsonl");
    write_models(plan_, options_, context_.folder);
  }
  const FitView view{.name = context_.name,
                     .total_steps = plan_.length.total_steps,
                     .steps_per_epoch = position.steps_per_epoch,
                     .batch = position.batch,
                     .first_step = position.step,
                     .parameters = plan_.parameter_count(),
                     .monitor = plan_.monitor};
  for (const auto& observer : observers_) observer->started(view);
  if (position.step == 0) call("start", position);  // a resumed fit has the state that it left behind
}

void Member::stepped(const Position& position, double rate) {
  position_ = position;
  last_rate_ = rate;
  for (const auto& observer : observers_) {
    if (!observer->wants_step(position.step)) continue;
    observer->stepped({.step = position.step,
                       .epoch = (position.step - 1) / position.steps_per_epoch,
                       .samples = position.samples(),
                       .rate = rate});
  }
  if (!callbacks_.empty()) call("step", position);
}

void Member::about_to_write() const {
  for (const auto& rule : stop_rules_) rule->about_to_write();
}

void Member::validated(const Position& position, MetricMap metrics, Value reports) {
  about_to_write();
  position_ = position;
  validated_step_ = position.step;
  metrics_ = std::move(metrics);
  reports_ = std::move(reports);
  metrics_.merge(trained_->metrics(index_));
  call("validate", position);
  // What was logged since the row before, in this validation's callback too.
  for (const auto& [name, value] : logged_) metrics_[name] = number_of(value);
  logged_.clear();

  const double value = metric(plan_.monitor);
  const bool minimize = plan_.minimize(plan_.monitor);
  const bool better = std::isfinite(value) && (!best_ || (minimize ? value < best_->value : value > best_->value));
  if (better) {
    best_ = Best{.value = value, .step = position.step, .epoch = position.epoch(), .metrics = metrics_,
                 .reports = reports_, .weights = plan_.keep_best ? trained_->weights(index_) : NamedTensors{}};
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
  if (rows_) rows_->append(to_json(row) + "\n");
  for (const auto& observer : observers_) observer->validated(view);
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

void Member::epoch_ended(const Position& position) { call("epoch", position); }

void Member::finished(const Value& summary) {
  for (const auto& observer : observers_) observer->finished(summary);
  if (summary["status"] != Value("interrupted")) call("finish", position_);
}

// -------------------------------------------------------------------------------------------------------- checkpoints

Value Member::info(const Position& position, const ScriptState& state) const {
  Value info;
  info.set("epoch", position.epoch());
  info.set("position", position.in_epoch());
  info.set("samples", position.samples());
  info.set("own_step", position_.step);  // less than `step` for a member of a group that has stopped
  info.set("lr", last_rate_);
  info.set("data", part_sizes());
  info.set("seconds", seconds());
  info.set("validated_step", validated_step_);
  info.set("metrics", to_value(metrics_));
  info.set("reports", reports_);
  Value::Map logged;
  for (const auto& [name, value] : logged_) logged[name] = number_of(value);
  info.set("logged", std::move(logged));
  info.set("train_loss", trained_->progress(index_));
  info.set("metrics_bytes", rows_->size());
  info.set("schedule", schedules_.state());
  Value::List rules;
  for (const auto& rule : stop_rules_) rules.push_back(rule->state());
  info.set("stop_rules", std::move(rules));
  if (best_) {
    Value best;
    best.set("value", best_->value);
    best.set("step", best_->step);
    best.set("epoch", best_->epoch);
    best.set("metrics", to_value(best_->metrics));
    best.set("reports", best_->reports);
    info.set("best", std::move(best));
  }
  if (rate_override_) info.set("lr_override", *rate_override_);
  if (stop_reason_) info.set("stop_reason", *stop_reason_);
  if (failure_) info.set("failure", *failure_);
  info.set("averaged", trained_->averaged(index_));
  info.set("total_steps", plan_.length.total_steps);
  info.set("state", state.value);
  Value::List resumed;
  for (const std::int64_t step : resumed_) resumed.emplace_back(step);
  info.set("resumed", std::move(resumed));
  return info;
}

void Member::commit(const Position& position) {
  about_to_write();
  call("checkpoint", position);  // before it is written, so that what it leaves in run.state is part of it
  rows_->sync();  // the rows that the checkpoint counts are on the disk before it is
  const ScriptState state = handle_->read_state ? handle_->read_state() : handle_->state;
  Checkpoint checkpoint{
      .step = position.step, .tensors = trained_->tensors(index_), .info = info(position, state), .best = {}};
  add_below(checkpoint.tensors, "state.", state.tensors);
  add_below(checkpoint.tensors, "data.", plan_.data.state);
  if (best_ && plan_.keep_best) checkpoint.best = BestWeights{.step = best_->step, .tensors = best_->weights};
  checkpoints_->commit(checkpoint);
}

void Member::write_saves(const Position& position) {
  if (!checkpoints_) saves_.clear();
  for (const std::string& name : saves_) {
    Value info;
    info.set("step", position.step);
    info.set("metrics", to_value(metrics_));
    checkpoints_->save(name, trained_->weights(index_), info);
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
  throw usage_error("the data is not what this run was trained on: found parts of " + to_json(part_sizes()) +
                    ", or their statistics, other than " + to_json(checkpoint.info["data"]))
      .hint("put the files back as they were, or begin a new run");
}

// `before`: the steps that the run was to have when the checkpoint was written.
void Member::check_extension(std::int64_t before) const {
  if (!context_.settings->extends_now) return;
  if (plan_.time_budget > 0) {
    throw usage_error("expected a run bounded by epochs or steps, found one with a budget of time")
        .hint("begin a new run with more time");
  }
  if (plan_.length.total_steps > before) return;
  const NewTotal& wanted = *context_.settings->extended;
  const double unit = wanted.unit == "epochs" ? static_cast<double>(plan_.length.steps_per_epoch) : 1;
  throw usage_error("expected a total of more than the " + number_text(static_cast<double>(before) / unit) + " " +
                    wanted.unit + " of the run, found " + wanted.text())
      .hint("extend takes the new total, not what is to be added");
}

std::int64_t Member::resume() {
  const auto rows = context_.folder / "metrics.jsonl";
  const std::optional<Checkpoint> found = checkpoints_->newest();
  if (!found) {
    if (std::filesystem::exists(rows)) {
      if (std::filesystem::file_size(rows) > 0) context_.say("no checkpoint is there: this starts again from the first step");
      truncate_file(rows, 0);
    }
    return 0;
  }
  const Value& info = found->info;
  check_data(*found);
  check_extension(info["total_steps"].integer());
  trained_->restore(index_, found->tensors);
  validated_step_ = info["validated_step"].integer();
  metrics_ = to_metrics(info["metrics"]);
  reports_ = info["reports"];
  for (const auto& [name, value] : to_metrics(info["logged"])) logged_.insert_or_assign(name, value);
  trained_->restore_progress(index_, info["train_loss"]);
  schedules_.restore(info["schedule"]);
  last_rate_ = info["lr"].number();
  // A run that was extended since goes on, whatever stopped it before, and its rules count anew.
  const bool extended = info["total_steps"].integer() != plan_.length.total_steps;
  if (!extended) {
    for (std::size_t i = 0; i < stop_rules_.size(); ++i) stop_rules_[i]->restore(info["stop_rules"].list().at(i));
    if (!info["stop_reason"].is_nil()) stop_reason_ = info["stop_reason"].string();
  }
  if (!info["failure"].is_nil()) failure_ = info["failure"].string();
  if (const Value& best = info["best"]; !best.is_nil()) {
    best_ = Best{.value = best["value"].number(), .step = best["step"].integer(), .epoch = best["epoch"].integer(),
                 .metrics = to_metrics(best["metrics"]), .reports = best["reports"], .weights = {}};
    if (found->best) {
      best_->weights = found->best->tensors;
    } else if (plan_.keep_best) {
      best_.reset();  // damaged: the next validation is the best so far
    }
  }
  if (!info["lr_override"].is_nil()) rate_override_ = info["lr_override"].number();
  handle_->state.value = info["state"];
  handle_->state.tensors = tensors_below(found->tensors, "state.");
  for (const Value& step : info["resumed"].list()) resumed_.push_back(step.integer());
  resumed_.push_back(found->step);
  seconds_before_ = info["seconds"].number();
  position_.step = info["own_step"].integer();
  truncate_file(rows, info["metrics_bytes"].integer());
  return found->step;
}

// ------------------------------------------------------------------------------------------------------------ the end

void Member::restore_kept() {
  if (!plan_.keep_best || !best_) return;
  trained_->load_weights(index_, best_->weights);
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
  Value::List resumed;
  for (const std::int64_t step : resumed_) resumed.emplace_back(step);
  summary.set("resumed", std::move(resumed));
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
