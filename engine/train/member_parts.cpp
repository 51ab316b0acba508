// The checkpoints of a member: the parts of which they are made, and how a member goes on from one.
#include <ATen/ops/equal.h>

#include <utility>

#include "core/trace.h"
#include "data/data_hashes.h"
#include "fit_handle.h"
#include "metric_values.h"
#include "plan/fit_plan_parts.h"
#include "plan/precision.h"
#include "run/budget.h"
#include "tensor/file_memory.h"
#include "tensor/memory.h"
#include "tensor/named_tensors.h"
#include "train/gradient_reader.h"
#include "train/member.h"
#include "train/model_file.h"

namespace trainlab {
namespace {

// The beginning of the names of the tensors that a stop rule keeps: "stop.1.".
std::string above_rule(std::size_t place) { return "stop." + std::to_string(place + 1) + "."; }

}  // namespace

void Member::list_parts() {
  const auto plain = [this](const char* name, auto Member::*field, auto read) {
    record_.add(
        {.name = name,
         .state = [this, field] { return Value(this->*field); },
         .restore = [this, field, read](const Value& state, const NamedTensors&) { this->*field = read(state); }});
  };
  // A key that is there only while there is a text.
  const auto text = [this](const char* name, std::optional<std::string> Member::*field, auto holds_on) {
    record_.add({.name = name,
                 .state = [this, field] { return this->*field ? std::optional<Value>(*(this->*field)) : std::nullopt; },
                 .restore =
                     [this, field, holds_on](const Value& state, const NamedTensors&) {
                       if (!state.is_nil() && holds_on(state.string())) this->*field = state.string();
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
                     if (settings.extends_now && settings.extended.back().is_time())
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
                     say_changed_data(before, "the last checkpoint",
                                      "the rest of this fit uses other data than its beginning");
                   }});
  record_.add({.name = "precision",
               .state = [this]() -> std::optional<Value> {
                 if (!plan_.precision.is_mixed()) return std::nullopt;
                 return Value(precision_text(plan_.precision));
               },
               .restore =
                   [this](const Value& before, const NamedTensors&) {
                     const Value now = plan_.precision.is_mixed() ? Value(precision_text(plan_.precision)) : Value();
                     if (before == now || !context_.clone_of.empty()) return;
                     context_.say("not byte-exact: the precision of this fit has changed since the last checkpoint" +
                                  (before.is_nil() ? "" : ", before: " + before.string()) +
                                  (now.is_nil() ? "" : ", now: " + now.string()));
                   }});
  record_.add({.name = "micro_batch",
               .state = [this]() -> std::optional<Value> {
                 const std::int64_t samples = trained_->micro_batch().samples;
                 return samples > 0 ? std::optional<Value>(samples) : std::nullopt;
               },
               .restore =
                   [this](const Value& samples, const NamedTensors&) {
                     if (samples.is_integer()) trained_->shrink_micro_batch(samples.integer());
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
  record_.add(not_finite_.part(context_));
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
               .tensors =
                   [this] {
                     NamedTensors all;
                     for (std::size_t i = 0; i < stop_rules_.size(); ++i) {
                       const GradientReader* const reader = stop_rules_[i]->gradient_reader();
                       if (reader) add_below(all, above_rule(i), reader->tensors());
                     }
                     return all;
                   },
               .restore =
                   [this](const Value& state, const NamedTensors& tensors) {
                     if (!is_extended_) restore_rules(state.list(), tensors);
                   }});
  text("stop_reason", &Member::stop_reason_, [this](const std::string& reason) {
    // A stage for which time is left again, in a larger budget of its run, goes on.
    const bool has_time = reason == budget_is_used && context_.seconds_left && context_.seconds_left() > 0;
    return !is_extended_ && !has_time;
  });
  const auto always = [](const std::string&) { return true; };
  text("failure", &Member::failure_, always);
  text("broken_off", &Member::broken_off_, always);
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
  record_.add({.name = "curve",
               .state = [this] { return curve_.state(); },
               .restore = [this](const Value& state, const NamedTensors&) { curve_.restore(state); }});
  record_.add({.name = "lr_override",
               .state = [this] { return set_rate_ ? std::optional<Value>(set_rate_->rate) : std::nullopt; },
               .restore =
                   [this](const Value& state, const NamedTensors&) {
                     if (!state.is_nil()) set_rate_ = {.rate = state.number()};
                   }});
  record_.add({.name = "lr_set_at",
               .state = [this] { return set_rate_ ? std::optional<Value>(set_rate_->place) : std::nullopt; },
               .restore =
                   [this](const Value& state, const NamedTensors&) {
                     if (!state.is_nil()) set_rate_->place = state.string();  // nil: of an earlier version, or not set
                   }});
  const auto read = std::make_shared<ScriptState>();  // between the two questions of one checkpoint
  const auto on_device = std::make_shared<Value>();
  record_.add({.name = "state",
               .state =
                   [this, read, on_device] {
                     *read = handle_->present_state();
                     // A member that has broken off or failed is saved as far as it can be.
                     if (read->fault && !broken_off_ && !failure_) {
                       broken_off_ = "checkpoint";
                       throw Error(*handle_->state_fault());
                     }
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
                     handle_->state = {.value = state, .tensors = tensors_below(tensors, "state.")};
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

void Member::restore_rules(const Value::List& states, const NamedTensors& tensors) {
  const bool may_differ = context_.settings && context_.settings->is_mended;
  if (may_differ && states.size() != stop_rules_.size()) return;
  for (std::size_t i = 0; i < stop_rules_.size(); ++i) {
    try {
      stop_rules_[i]->restore(states.at(i));
    } catch (const std::logic_error&) {  // the state of another kind of rule
      if (!may_differ) throw;
      continue;
    }
    GradientReader* const reader = stop_rules_[i]->gradient_reader();
    if (!reader) continue;
    NamedTensors kept = tensors_below(tensors, above_rule(i));
    for (auto& [name, tensor] : kept) tensor = tensor.to(plan_.device, /*non_blocking=*/false, /*copy=*/true);
    reader->restore_tensors(kept);
  }
}

std::optional<Checkpoint> Member::gather(const Position& position) {
  // Before it is written, so that what the callback leaves in run.state is part of it.
  if (!broken_off_) call("checkpoint", position);
  if (!record_.is_kept()) return std::nullopt;
  Checkpoint checkpoint{.step = position.step, .tensors = {}, .info = {}, .best = {}};
  checkpoint.info.set("epoch", position.epoch());
  checkpoint.info.set("position", position.in_epoch());
  checkpoint.info.set("samples", position.samples());
  // How a checkpoint of the training before a fix is known (fixing.cpp).
  if (!plan_.fixes.empty()) checkpoint.info.set("fixes", std::ssize(plan_.fixes));
  if (best_ && plan_.keep_best) checkpoint.best = BestWeights{.step = best_->step, .tensors = best_->weights};
  record_.gather(checkpoint);
  return checkpoint;
}

void Member::write_saves(const Position& position) {
  if (!record_.is_kept()) saves_.clear();
  if (saves_.empty()) return;
  const Span span(Phase::callback, "run:save");
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
  const auto other = [&](const std::string& found) {
    return record_.misfit("the data differs from the data of the run so far: " + found,
                          "put the files back as they were, or begin a new run");
  };
  const Value sizes = part_sizes();
  if (const Value& before = checkpoint.info["data"]; before != sizes)
    throw other("found parts of " + to_json(sizes) + ", other than " + to_json(before));
  for (const auto& [name, tensor] : plan_.data.state) {
    const auto found = checkpoint.tensors.find("data." + name);
    if (found != checkpoint.tensors.end() && at::equal(found->second, tensor)) continue;
    const std::string changed = changed_columns(checkpoint.info["data_hashes"], data_hashes(plan_.data));
    throw other("found another " + name + (changed.empty() ? "" : "; what has changed: " + changed));
  }
}

// `before`: the hashes that the data had at `since`, nil in a run of an earlier version.
void Member::say_changed_data(const Value& before, const char* since, const char* so) const {
  if (before.is_nil() || !context_.clone_of.empty()) return;  // a clone may have other data
  const std::string changed = changed_columns(before, data_hashes(plan_.data));
  if (changed.empty()) return;
  const std::string line = "the data has changed since " + std::string(since) + " (" + changed + "); " + so;
  context_.say_inexact ? context_.say_inexact(line) : context_.say("not byte-exact: " + line);
}

// `before`: the steps that the run was to have when the checkpoint was written.
void Member::check_extension(std::int64_t before) const {
  if (!context_.settings->extends_now || context_.settings->extended.back().is_time()) return;
  if (plan_.time_budget > 0) {
    throw usage_error("expected a run bounded by epochs or steps, found one with a budget of time")
        .hint("trainlab extend RUN --time TIME");
  }
  if (plan_.length.total_steps > before) return;
  const NewTotal& wanted = context_.settings->extended.back();
  const double unit = wanted.unit == "epochs" ? static_cast<double>(plan_.length.steps_per_epoch) : 1;
  throw wanted.no_more_than(count_text(static_cast<double>(before) / unit) + " " + wanted.unit);
}

namespace {

// The newest checkpoint, read into a file without a name: what a fit and its checkpoint hold together may be more than
// memory may take. What the fit keeps of the checkpoint is in memory.
std::optional<Checkpoint> newest_in_file(Record& record, const std::filesystem::path& folder, const char* otherwise) {
  std::optional<Checkpoint> found;
  {
    const TensorsInFile guard(std::make_shared<ScratchFile>(folder));
    found = record.newest(otherwise);
  }
  if (!found) return found;
  for (auto& [name, tensor] : found->tensors)
    if (name.starts_with("state.")) tensor = tensor.clone();
  if (!found->best) return found;
  for (auto& [name, tensor] : found->best->tensors) tensor = tensor.clone();
  return found;
}

}  // namespace

std::int64_t Member::resume() {
  const char* const otherwise = "the first step";
  const bool is_short_of_memory = plan_.offload_optimizer || tensor_memory_limit() > 0;
  const std::optional<Checkpoint> found =
      is_short_of_memory ? newest_in_file(record_, context_.folder, otherwise) : record_.newest(otherwise);
  if (!found) {
    Value hashes;
    try {
      hashes = hashes_at_begin(context_.folder);
    } catch (const Error& damage) {
      context_.say_damage("damage: " + damage.message() + "; the fit begins again and writes this file anew");
    }
    say_changed_data(hashes, "this fit began", "it begins again, with the data as it is now");
    return 0;
  }
  check_data(*found);
  record_.resume(*found);
  if (best_ && found->best) {
    best_->weights = found->best->tensors;
  } else if (plan_.keep_best) {
    best_.reset();  // damaged: the next validation is the best so far
  }
  return found->step;
}

}  // namespace trainlab
