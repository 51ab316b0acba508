// Helpers for schedules that depend on the number of steps in the run. Private to the module.
#pragma once

#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/duration.h"
#include "optim/schedule.h"

namespace trainlab {

// A schedule that depends on the number of steps in the run.
class LengthSchedule : public Schedule {
 public:
  explicit LengthSchedule(const RunLength& length);

  void set_total(std::int64_t total_steps) override;
  Value state() const override;
  void restore(const Value& state) override;

 protected:
  virtual void length_changed() = 0;
  std::int64_t total() const { return length_.total_steps; }
  std::int64_t steps_of(const Duration& duration) const;

 private:
  RunLength length_;
  bool is_set_ = false;
};

// Reads a duration that can be turned into steps; Error{recipe} for a time.
Duration step_duration(const Options& spec, std::string_view option);

// A curve after a linear warm-up: with W steps of warm-up in a run of T, (step + 1) / (W + 1) for step < W, then
// at(step − W, T − W).
class WarmSchedule : public LengthSchedule {
 public:
  WarmSchedule(const Options& spec, const RunLength& length);
  double factor(std::int64_t step) final;

 protected:
  // `span`: steps of the run after the warm-up, perhaps none; `step` may be beyond them.
  virtual double at(std::int64_t step, std::int64_t span) const = 0;
  void length_changed() override { rise_ = steps_of(warmup_); }
  std::int64_t rise() const { return rise_; }

 private:
  Duration warmup_{.amount = 0, .unit = Unit::steps};
  std::int64_t rise_ = 0;  // steps of the warm-up
};

Option warmup_option();
Option floor_option();

// The kind of a schedule that is made from its options and the run's length. `times` has its times but for `warmup`.
template <class T>
ScheduleKind schedule_kind(std::vector<ScheduleTime> times = {}) {
  if constexpr (std::is_base_of_v<WarmSchedule, T>)
    times.insert(times.begin(), {"warmup", "expected a warm-up that ends before the run does"});
  return {[](const Options& spec, const RunLength& length) { return std::make_unique<T>(spec, length); },
          std::move(times)};
}

}  // namespace trainlab
