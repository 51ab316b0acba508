#include "task/task.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/clock.h"
#include "journal/artifact.h"
#include "journal/reporters.h"
#include "run/budget.h"
#include "tensor/device.h"

namespace trainlab {

namespace {

constexpr std::size_t rows_at_once = 256;

}  // namespace

TaskContext::TaskContext(const StageContext& stage, std::int64_t seed, Value initial_state, at::Device device,
                         const TaskCompany& company)
    : state{.value = std::move(initial_state), .tensors = {}},
      name_(stage.name),
      seed_(seed),
      device_(device),
      key_(Key(static_cast<std::uint64_t>(seed)).fold("task").fold(stage.name)),
      is_rehearsal_(stage.is_rehearsal),
      record_(stage),
      own_speed_(company.shows_progress ? stage.say : nullptr, words_while_training(stage)),
      words_at_end_(words_at_end(stage)),
      warn_([stage](const std::string& text) { stage.warn(text); }),
      seconds_left_(stage.seconds_left),
      judges_(company.judges),
      watches_losses_(company.watches_losses) {
  list_parts();
  record_.add(not_finite_.part(stage));
  for (const Resumable& part : company.parts) record_.add(part);
  if (stage.resumed) from_ = record_.newest("the beginning");
  if (from_) record_.resume(*from_);
  record_.begin();
  // A bar shows a loss and a rate, which a task has not.
  record_.watch(company.shows_progress ? ProgressStyle::lines : ProgressStyle::none, {}, company.observers);
  for (const auto& observer : record_.observers()) {
    observer->started({.name = name_, .first_step = from_ ? from_->step : 0, .monitor = ""});
  }
  if (device_.is_cpu()) reset_tensor_peak();
  speed_.begin(steady_seconds(), *(company.speed ? company.speed : &own_speed_));
}

TaskContext::~TaskContext() = default;

void TaskContext::close() {
  complete_ = true;
  count_speed();
}

void TaskContext::count_speed() { speed_.end(steady_seconds(), device_at(device_).memory().peak); }

SpeedFigures TaskContext::speed() const { return speed_.figures(steady_seconds(), device_at(device_).memory().peak); }

void TaskContext::list_parts() {
  record_.add({.name = "last",
               .state = [this] { return last_values(); },
               .restore =
                   [this](const Value& saved, const NamedTensors&) {
                     for (const auto& [name, value] : saved.map())
                       last_[name] = value.is_nil() ? std::nan("") : value.number();
                   }});
  // The counters of the next row outside of loops and of the next call of `validated`. Older checkpoints have no such
  // part.
  record_.add({.name = "latest_row",
               .state = [this]() -> Value {
                 return Value::Map{{"epoch", epoch_}, {"samples", samples_}, {"to_show", to_show_}};
               },
               .restore =
                   [this](const Value& saved, const NamedTensors&) {
                     if (saved.is_nil()) return;
                     epoch_ = saved["epoch"].integer();
                     samples_ = saved["samples"].integer();
                     to_show_ = saved["to_show"].boolean();
                   }});
  record_.add({.name = "complete", .state = [this] { return Value(complete_); }});
}

Value TaskContext::last_values() const {
  Value::Map all;
  for (const auto& [name, value] : last_) all[name] = value;
  return all;
}

void TaskContext::check_open() const {
  if (complete_)
    throw recipe_error("this task has ended").hint("ctx and its loops can be used only inside the task's function");
}

void TaskContext::log(const std::string& name, Logged value) {
  check_open();
  if (const auto* tensor = std::get_if<at::Tensor>(&value)) value = logged_tensor(*tensor, "ctx:log." + name);
  if (from_) return;
  has_logged_ = true;
  if (!logged_.insert_or_assign(name, std::move(value)).second)
    warn_of_rows(name + " is logged again in the row of step " + std::to_string(step()) +
                 ", which keeps the last value");
}

void TaskContext::uncounted_step() {
  if (!has_logged_ || ++uncounted_steps_ < 2) return;
  warn_of_rows("this loop has no `save`, so that all its rows are of step " + std::to_string(step()) +
               ", and a resumed task begins it again");
}

void TaskContext::warn_of_rows(const std::string& what) {
  if (loops_ > 0 || std::exchange(has_warned_of_rows_, true)) return;
  warn_(
      recipe_error("ctx:log: " + what)
          .hint("a loop of ctx that saves counts its steps, has a row for each, and goes on where it was stopped: for "
                "batch in ctx:batches(data.train, { epochs = 5, save = { model, opt } }) do … end")
          .what());
}

void TaskContext::artifact(const std::string& name, const Artifact& content) {
  check_open();
  check_file_name("ctx:artifact", name);
  if (!from_ && record_.is_kept()) write_artifact(record_.folder(), name, content);
}

void TaskContext::save(const std::string& name, const NamedTensors& tensors) {
  check_open();
  check_file_name("ctx:save", name);
  if (from_ || !record_.is_kept()) return;
  Value info;
  info.set("at", step());
  record_.checkpoints().save(name, tensors, info);
}

void TaskContext::replace_state(ScriptState saved) {
  state = std::move(saved);
  if (state_replaced) state_replaced();
}

// --------------------------------------------------------------------------------------------------------------- rows

void TaskContext::stepped(double begun, double fetched, std::int64_t samples, double transforming) {
  const double now = steady_seconds();
  longest_step_ = std::max(longest_step_, now - begun);
  speed_.stepped(begun, fetched, now, samples, transforming);
}

void TaskContext::end_row() {
  if (logged_.empty()) return;
  if (loop_) {
    epoch_ = loop_->epoch();
    samples_ = loop_->samples();
  }
  for (const auto& judge : judges_) {
    judge->row([this](const std::string& name) -> std::optional<double> {
      const auto found = logged_.find(name);
      if (found == logged_.end()) return std::nullopt;
      found->second = number_of(found->second);
      return std::get<double>(found->second);
    });
  }
  rows_.push_back({step(), epoch_, samples_, record_.seconds(), std::move(logged_)});
  logged_.clear();
  if (rows_.size() >= rows_at_once) flush();
}

void TaskContext::flush() {
  std::string text;
  for (Row& row : rows_) {
    Value::Map map{{"step", row.step}, {"epoch", row.epoch}, {"samples", row.samples}, {"seconds", row.seconds}};
    std::map<std::string, double> values;
    for (const auto& [name, logged] : row.values) {
      const double value = number_of(logged);
      map[name] = last_[name] = values[name] = value;
      const bool is_told = watches_losses_ && (name == "train.loss" || name == "val.loss");
      if (is_told || !not_finite_.is_first(name, value)) continue;
      warn_("ctx:log: " + name + " is " + number_text(value) + " at epoch " + std::to_string(row.epoch) + ", step " +
            std::to_string(row.step));
    }
    for (const auto& observer : record_.observers()) observer->logged({.step = row.step, .values = values});
    text += to_json(Value(std::move(map))) + "\n";
  }
  if (text.empty()) return;
  record_.append(text);
  to_show_ = true;
  rows_.clear();
}

void TaskContext::show() {
  if (from_) return;  // the rows belong to the end of an epoch or loop that is still to come
  flush();
  if (!std::exchange(to_show_, false)) return;
  const ValidationView view{.step = step(),
                            .epoch = epoch_,
                            .samples = samples_,
                            .seconds = record_.seconds(),
                            .rate = std::nan(""),
                            .metrics = last_};
  for (const auto& observer : record_.observers()) observer->validated(view);
}

// ----------------------------------------------------------------------------------------------------------------- end

// Half as much again: a reserve that is too small costs the result, one that is too large a few steps.
bool TaskContext::is_out_of_time() const {
  return seconds_left_ && step() > 0 && seconds_left_() <= 1.5 * (longest_step_ + commit_seconds_);
}

void TaskContext::end_if_over(bool is_durable) {
  if (from_) return;
  std::optional<std::string> reason;
  for (const auto& judge : judges_) {
    if (!reason) reason = judge->over();
  }
  if (!reason) return;
  end_early("stopped", *reason, is_durable);
  throw run_error(*reason);
}

void TaskContext::end_early(const std::string& status, const std::string& reason, bool is_durable) {
  if (is_durable) {
    commit();
  } else {
    flush();
  }
  record_.sync();
  early_end_ = end(status, reason);
}

void TaskContext::passed() {
  if (from_) return;
  for (const auto& judge : judges_) judge->passed();
}

Value TaskContext::finish() {
  if (loop_) loop_->leave();
  end_row();
  show();
  complete_ = true;
  if (!finished_.empty() && !from_) commit();
  record_.sync();
  if (is_cut_short_) return end("stopped", budget_is_used);
  return end("done", "the function has returned");
}

std::int64_t TaskContext::reached() const { return from_ ? std::max(step(), from_->step) : step(); }

Value TaskContext::end(const std::string& status, const std::string& reason) {
  Value summary = Value::Map{{"status", status},
                             {"reason", reason},
                             {"metrics", last_values()},
                             {"steps", reached()},
                             {"seconds", record_.seconds()},
                             {"resumed", record_.resumed()},
                             {"speed", speed().to_value(words_at_end_)}};
  count_speed();
  for (const auto& observer : record_.observers()) observer->add_to(summary);
  for (const auto& observer : record_.observers()) observer->finished(summary);
  return summary;
}

}  // namespace trainlab
