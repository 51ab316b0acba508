// Schedules: the factor of the optimizer's rate as a function of the step.
//
// A schedule is a pure function of (step, total) but for reduce-on-plateau, which also looks at validations and whose
// few numbers are its state. One instance per member.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/random/key.h"
#include "core/registry.h"

namespace trainlab {

// The numbers with which a schedule turns durations into steps. total_steps = 0: unknown (a time budget); until
// set_total() is called, a run of `assumed_steps` is assumed.
inline constexpr std::int64_t assumed_steps = 20'000;
struct RunLength {
  std::int64_t total_steps = 0;
  std::int64_t steps_per_epoch = 0;
  std::int64_t batch = 0;  // samples per optimizer step
};

class Schedule {
 public:
  virtual ~Schedule() = default;
  // Factor for optimizer step `step` (from 0). Calls may come in any order unless the schedule has state.
  virtual double factor(std::int64_t step) = 0;
  // The same for a step that may be far ahead: a function of the recipe is called for this step alone.
  virtual double factor_ahead(std::int64_t step) { return factor(step); }
  // Sets the estimated total, which a time budget leaves open; kept in state().
  virtual void set_total(std::int64_t total_steps) { (void)total_steps; }
  // Called after each validation with the monitored value; `minimize` is its direction.
  virtual void validated(double value, bool minimize) { (void)value, (void)minimize; }
  // Whether the factor may fall for a reason that nobody knows yet: validations to come, or a function of the recipe
  // whose later factors were not asked for.
  virtual bool may_fall() const { return false; }
  // State for the checkpoint; nil where there is none.
  virtual Value state() const { return {}; }
  virtual void restore(const Value& state) { (void)state; }
};

// An option with a time of the run, or a list of such times, at which the schedule does something. Nothing is done at
// times that are not within the run; a warning then says `expected`.
struct ScheduleTime {
  const char* option;
  const char* expected;
};

// The implementation of an entry of the kind schedule.
struct ScheduleKind {
  std::function<std::unique_ptr<Schedule>(const Options&, const RunLength&)> make;
  std::vector<ScheduleTime> times = {};
  bool follows_validations = false;  // whether values of validations decide the factor
};

std::unique_ptr<Schedule> make_schedule(const Options& spec, const RunLength& length);
// A recipe's function(step, total) → factor, tabulated in chunks of 1,000 steps, never called per step. Anything but
// finite numbers ≥ 0 is an Error{recipe} at the function's place. Its random numbers come from `key` and the step. To
// be used on the function's home thread.
std::unique_ptr<Schedule> make_schedule(std::shared_ptr<Callable> function, const RunLength& length, Key key);
std::unique_ptr<Schedule> constant_schedule();
// Whether the factor falls by more than a tenth between two of the steps from `step` to the one before `end`, which is
// later than `step`; it may rise before and after that. The steps that are asked lie nearer to each other the nearer
// they are to `step`, so that the next of many cycles is seen whatever its length. A later fall after which the factor
// rises again is seen where it lasts for at least an eighth of the steps until then.
bool falls_between(Schedule& schedule, std::int64_t step, std::int64_t end);
// Whether values of validations decide the factor of a schedule, or of one of several by name or in a list.
bool follows_validations(const Registry& registry, const Value& schedule);
// Warnings about times of a schedule that a run of this length never reaches: a warm-up that is as long as the run, a
// reduction after its end. None where the length is unknown.
std::vector<Error> warnings_of_schedule(const Options& spec, const RunLength& length);

}  // namespace trainlab
