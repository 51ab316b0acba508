#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "core/function_error.h"
#include "entries.h"
#include "length_schedule.h"

namespace trainlab {
namespace {

class Constant final : public Schedule {
 public:
  double factor(std::int64_t) override { return 1; }
};

class Step final : public WarmSchedule {
 public:
  Step(const Options& spec, const RunLength& length)
      : WarmSchedule(spec, length), every_(step_duration(spec, "every")), factor_(spec.number("factor")) {
    Step::length_changed();
  }

 private:
  double at(std::int64_t step, std::int64_t) const override {
    const std::int64_t reductions = step / period_;
    return std::pow(factor_, static_cast<double>(reductions));
  }
  void length_changed() override {
    WarmSchedule::length_changed();
    period_ = std::max<std::int64_t>(steps_of(every_), 1);
  }

  Duration every_;
  double factor_;
  std::int64_t period_ = 1;
};

class Cosine final : public WarmSchedule {
 public:
  Cosine(const Options& spec, const RunLength& length) : WarmSchedule(spec, length), floor_(spec.number("floor")) {
    length_changed();
  }

 private:
  double at(std::int64_t step, std::int64_t span) const override {
    if (step >= span) return floor_;
    const double share = static_cast<double>(step) / static_cast<double>(span);
    return floor_ + (1 - floor_) * (1 + std::cos(std::numbers::pi * share)) / 2;
  }

  double floor_;
};

class Function final : public LengthSchedule {
 public:
  Function(std::shared_ptr<Callable> function, const RunLength& length, Key key)
      : LengthSchedule(length), function_(std::move(function)), key_(key.fold("schedule")) {}

  double factor(std::int64_t step) override {
    step = within(step);
    if (!is_tabulated(step)) tabulate(step / chunk_steps);
    return table_[static_cast<std::size_t>(step % chunk_steps)];
  }
  double factor_ahead(std::int64_t step) override {
    step = within(step);
    return is_tabulated(step) ? factor(step) : call_at(step);
  }
  // The function is not called ahead of its steps, where it may raise an error.
  bool may_fall() const override { return (total() - 1) / chunk_steps != chunk_; }

 private:
  static constexpr std::int64_t chunk_steps = 1000;

  void length_changed() override { chunk_ = -1; }

  std::int64_t within(std::int64_t step) const { return std::clamp<std::int64_t>(step, 0, total() - 1); }
  bool is_tabulated(std::int64_t step) const { return step / chunk_steps == chunk_; }

  double call_at(std::int64_t step) const {
    function_->rekey(key_.fold(static_cast<std::uint64_t>(step)));
    const Argument arguments[] = {Value(step), Value(total())};
    const std::vector<Argument> results = function_->call(arguments);
    const Value* result = results.empty() ? nullptr : std::get_if<Value>(&results.front());
    if (!result || !result->is_number() || !std::isfinite(result->number()) || result->number() < 0)
      throw wrong_result(step, results.empty() ? "nothing" : result ? result->brief() : "an object");
    return result->number();
  }

  void tabulate(std::int64_t chunk) {
    chunk_ = -1;
    table_.clear();
    const std::int64_t begin = chunk * chunk_steps;
    for (std::int64_t step = begin; step < std::min(begin + chunk_steps, total()); ++step)
      table_.push_back(call_at(step));
    chunk_ = chunk;
  }

  Error wrong_result(std::int64_t step, const std::string& found) const {
    return function_error(*function_,
                          "expected the schedule's function to return a finite number of at least 0, found " + found +
                              " at step " + std::to_string(step));
  }

  std::shared_ptr<Callable> function_;
  Key key_;
  std::vector<double> table_;  // of chunk_
  std::int64_t chunk_ = -1;
};

}  // namespace

LengthSchedule::LengthSchedule(const RunLength& length) : length_(length) {
  if (length_.total_steps == 0) length_.total_steps = assumed_steps;
}

void LengthSchedule::set_total(std::int64_t total_steps) {
  length_.total_steps = std::max<std::int64_t>(total_steps, 1);
  is_set_ = true;
  length_changed();
}

Value LengthSchedule::state() const { return is_set_ ? Value(Value::Map{{"total", length_.total_steps}}) : Value(); }

void LengthSchedule::restore(const Value& state) {
  if (const Value& total = state["total"]; !total.is_nil()) LengthSchedule::set_total(total.integer());
}

std::int64_t LengthSchedule::steps_of(const Duration& duration) const {
  return *in_steps(duration, length_.steps_per_epoch, length_.batch, length_.total_steps);
}

Duration step_duration(const Options& spec, std::string_view option) {
  const Duration duration = spec.duration(option);
  if (duration.unit == Unit::seconds)
    throw spec.error(option, "expected a duration in steps, epochs, samples or %, found " + to_text(duration));
  return duration;
}

WarmSchedule::WarmSchedule(const Options& spec, const RunLength& length) : LengthSchedule(length) {
  if (spec.has("warmup")) warmup_ = step_duration(spec, "warmup");
}

double WarmSchedule::factor(std::int64_t step) {
  if (step < rise_) return static_cast<double>(step + 1) / static_cast<double>(rise_ + 1);
  return at(step - rise_, std::max<std::int64_t>(total() - rise_, 0));
}

Option warmup_option() { return Option("warmup", "length of a linear rise at the start (default: none)").duration(); }

Option floor_option() { return Option("floor", "lowest factor").number().at_least(0).at_most(1).or_default(0.0); }

std::unique_ptr<Schedule> make_schedule(const Options& spec, const RunLength& length) {
  return spec.registry().implementation<ScheduleKind>(spec.entry()).make(spec, length);
}

std::unique_ptr<Schedule> make_schedule(std::shared_ptr<Callable> function, const RunLength& length, Key key) {
  return std::make_unique<Function>(std::move(function), length, key);
}

std::unique_ptr<Schedule> constant_schedule() { return std::make_unique<Constant>(); }

bool falls_between(Schedule& schedule, std::int64_t step, std::int64_t end) {
  double least = std::numeric_limits<double>::infinity();  // of the later steps
  bool falls = false;
  // From the end to the present step, because a sequence of schedules remembers which of its parts was asked last.
  for (std::int64_t ahead = end - 1 - step; ahead > 0; ahead -= 1 + ahead / 9) {
    const double factor = schedule.factor_ahead(step + ahead);
    falls = falls || least < 0.9 * factor;
    least = std::min(least, factor);
  }
  const double now = schedule.factor(step);
  return falls || least < 0.9 * now;
}

bool follows_validations(const Registry& registry, const Value& schedule) {
  const auto follows = [&](const Value& part) { return follows_validations(registry, part); };
  if (schedule.is_list()) return std::ranges::any_of(schedule.list(), follows);
  if (!schedule.is_map()) return false;
  const Entry* entry = schedule["@"].is_string() ? registry.find(schedule["@"].string()) : nullptr;
  if (entry && entry->kind == "schedule" && registry.implementation<ScheduleKind>(*entry).follows_validations)
    return true;
  return std::ranges::any_of(schedule.map(), [&](const auto& part) { return follows(part.second); });
}

std::vector<Error> warnings_of_schedule(const Options& spec, const RunLength& length) {
  std::vector<Error> warnings;
  if (length.total_steps < 1) return warnings;
  const auto check = [&](const ScheduleTime& time, const std::string& text) {
    const auto steps = in_steps(parse_duration(text), length.steps_per_epoch, length.batch, length.total_steps);
    if (!steps || *steps < length.total_steps) return;
    const std::string found = text + " (" + std::to_string(*steps) + " steps)";
    const std::string run = "in a run of " + std::to_string(length.total_steps) + " steps";
    warnings.push_back(spec.error(time.option, std::string(time.expected) + ", found " + found + " " + run)
                           .hint("a share such as \"10%\" fits runs of any length"));
  };
  for (const ScheduleTime& time : spec.registry().implementation<ScheduleKind>(spec.entry()).times) {
    const Value& given = spec.get(time.option);
    if (given.is_string()) check(time, given.string());
    if (!given.is_list()) continue;
    for (const Value& one : given.list()) check(time, one.string());
  }
  return warnings;
}

void register_schedule(Registry& registry) {
  registry.add(
      Entry("sched.constant", "schedule", "Keeps the optimizer's rate for the whole run.").example("sched.constant()"),
      ScheduleKind{[](const Options&, const RunLength&) { return constant_schedule(); }});
  registry.add(Entry("sched.step", "schedule", "Multiplies the rate by a factor at regular intervals.")
                   .with(Option("every", "time between two reductions").duration().required().positional())
                   .with(Option("factor", "number by which the rate is multiplied each time")
                             .number()
                             .more_than(0)
                             .or_default(0.1)
                             .positional())
                   .with(warmup_option())
                   .example("sched.step { every = \"30 epochs\", factor = 0.1 }")
                   .note("factor^⌊step / every⌋, as PyTorch's StepLR."),
               schedule_kind<Step>({{"every", "expected a first reduction within the run"}}));
  registry.add(Entry("sched.cosine", "schedule", "Linear warm-up, then half a cosine down to a floor.")
                   .with(warmup_option())
                   .with(floor_option())
                   .example("sched.cosine { warmup = \"5%\" }")
                   .note("With W steps of warm-up in a run of T: (step + 1) / (W + 1) for step < W, then floor + "
                         "(1 − floor)·(1 + cos(π·(step − W) / (T − W))) / 2 (Loshchilov and Hutter 2017)."),
               schedule_kind<Cosine>());
}

}  // namespace trainlab
