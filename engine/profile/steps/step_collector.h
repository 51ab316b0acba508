// StepCollector: hears the spans of a loop and adds up where the time of its steps goes. Private to the room.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace.h"
#include "operator_count.h"
#include "profile/steps.h"
#include "task_steps.h"

namespace trainlab {

struct StepLimits {
  double seconds = 30;      // longest time, from the first step on, without that in which operators are counted
  double slow_seconds = 0;  // the same for slow steps, until few_steps are timed; less than `seconds` means nothing
  double precision = 0.02;  // timing ends when half the interval of a step is this share of its median
  std::int64_t cold = 5;    // steps at the beginning of a run that touch memory and code for the first time
  // Steps whose operators are counted: once few_steps are timed, so that a training that ends soon has them too, or
  // when the timing is over. Further steps are timed after them.
  std::int64_t counted = 8;
  double block = 0.05;  // shortest duration of a block of steps, in seconds
  // Blocks have a multiple of this number of steps: those of an epoch whose last step is smaller. Where less than one
  // such block is timed, blocks have any number.
  std::int64_t cycle = 1;
  // Waits for a device that works by itself; empty where the device does what it is asked at once. After the timed and
  // the counted steps, as many as counted ones follow in which the device is waited for after each phase.
  std::function<void()> wait = {};
};

// Timed steps from which a verdict may be had, with some to spare.
inline constexpr std::int64_t few_steps = 5;

// Listens on the thread that trains, and is used by that thread alone. Memory does not grow with the number of steps.
class StepCollector final : public TraceListener, public TaskStepListener {
 public:
  explicit StepCollector(StepLimits limits, double (*now)());
  ~StepCollector() override;

  // The longest time, and another one.
  double limit() const { return limits_.seconds; }
  void set_limit(double seconds) { limits_.seconds = seconds; }
  // To be called when a fit or a task begins: its first steps are cold.
  void run_began();
  // To be called after a run that had no steps but cold ones: in further runs a quarter of as many are cold, and the
  // first in any case. False where none would be left to time.
  bool lower_cold();
  // In a task's step, time that no span covers is counted as a function of the recipe.
  void step_began() override;
  void step_ended() noexcept override;
  bool in_step() const { return in_step_; }

  void began(Phase phase, std::string_view name) override;  // raises SeenEnough where the next step would begin
  void ended(Phase phase, std::string_view name) noexcept override;

  bool is_done() const override { return stage_ == Stage::done; }
  std::int64_t measured() const { return timed_steps_ + counted_steps_; }
  StepFigures figures();

 private:
  enum class Stage { cold, timing, counting, awaiting, done };
  struct Block {
    double seconds = 0;
    std::int64_t steps = 0;
  };
  struct Total {
    std::int64_t count = 0;
    double seconds = 0;
  };
  struct FunctionSeconds {
    double since = 0;  // since the end of the last step
    double timed = 0;  // in the timed steps and before each
  };

  void charge();  // adds the time since the last call to where it belongs
  void await_device() noexcept;
  void settle_phase();
  void open_step(Phase frame);
  FunctionSeconds& function(std::string_view name);
  // The recipe's function that takes the time since the last call, by the rules of the other figures: in a step its own
  // time, between steps with all that it calls, and in an evaluation nothing. Null: no function of the recipe.
  FunctionSeconds* running_function() const;
  // Begins anew what is collected from the end of one step to the end of the next. `is_timed`: the step is timed, so
  // that the seconds of functions count.
  void forget_since(bool is_timed) noexcept;
  void step_is_over(double now) noexcept;
  double longest() const;  // the time after which no further step is timed
  bool has_counted() const { return limits_.counted == 0 || counted_steps_ > 0; }
  Stage after_timing() const { return limits_.wait && limits_.counted > 0 ? Stage::awaiting : Stage::done; }
  void add_to_block(double seconds);
  bool is_precise();
  // The mean seconds of a step in each block. Neighbouring blocks are joined until each lasts `least_seconds` and has a
  // multiple of `cycle` steps.
  std::vector<double> block_means(double least_seconds, std::int64_t cycle) const;
  void settle_thread();

  StepLimits limits_;
  double (*const now_)();

  struct Open {
    Phase phase;
    FunctionSeconds* function = nullptr;  // of the recipe's function whose span it is
  };
  std::vector<Open> open_;
  Phase phase_ = Phase::step;              // the innermost open phase
  Phase counted_phase_ = Phase::validate;  // phase of counted operators; validate: outside of steps
  double last_ = 0;
  double run_began_ = 0, begin_seconds_ = 0;
  bool is_before_steps_ = true;  // whether the run has had no step
  bool in_step_ = false;
  std::size_t apart_ = 0;      // open_.size() when the outermost validation or commit under way had begun, else 0
  bool apart_counts_ = false;  // whether this validation or commit recurs; the evaluation of the test part does not
  double apart_began_ = 0;
  double apart_inside_ = 0;  // seconds of its metrics, or of the functions of the recipe in a checkpoint
  PhaseSeconds step_{};      // seconds of the step under way
  PhaseSeconds step_asking_{}, step_waiting_{};
  double callbacks_ = 0, between_ = 0;  // seconds since the previous step
  bool validated_since_ = false;

  Stage stage_ = Stage::cold, goal_ = Stage::timing;
  std::int64_t cold_left_ = 0, cold_steps_ = 0, timed_steps_ = 0, counted_steps_ = 0, awaited_steps_ = 0;
  double started_ = 0;         // when the first step began, later by the time in which operators were counted
  double counting_since_ = 0;  // the end of the last timed step
  double cold_seconds_ = 0, counted_seconds_ = 0, awaited_seconds_ = 0;
  PhaseSeconds timed_{}, counted_{}, asking_{}, waiting_{};
  double timed_callbacks_ = 0, timed_between_ = 0;
  std::map<std::string, FunctionSeconds, std::less<>> functions_;  // by span
  std::vector<Block> blocks_;
  Block block_;
  std::int64_t block_steps_ = 1;  // steps in a block
  double unchecked_ = 0;          // seconds of steps since the interval was last computed
  Total validations_, commits_;
  double validation_metrics_ = 0;                       // seconds of all validations
  Total validation_functions_;                          // after the validations that a step followed
  double commit_functions_ = 0;                         // seconds of all checkpoints
  std::int64_t commits_since_ = 0, timed_commits_ = 0;  // since the previous step; between timed steps
  bool thread_runs_ = false;  // whether thread_before_ has the figures from which the present ones count
  ThreadFigures thread_before_, thread_;
  std::array<OperatorFigures, phase_count> tally_{};
  std::unique_ptr<OperatorCount> counting_;
};

}  // namespace trainlab
