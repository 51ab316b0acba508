// StepCollector: hears the spans of a loop and adds up where the time of its steps goes. Private to the room.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "operator_count.h"
#include "profile/steps.h"

namespace trainlab {

struct StepLimits {
  double seconds = 30;       // at most, from the first step on
  double precision = 0.02;   // half the interval of a step, relative to its median, at which timing ends
  std::int64_t cold = 5;     // steps at the beginning of a run that touch memory and code for the first time
  std::int64_t counted = 8;  // steps whose operators are counted after the timed ones
  double block = 0.05;       // seconds of a block of steps, at least
};

// Listens on the thread that trains, and is used by that thread alone. Memory does not grow with the number of steps.
class StepCollector final : public TraceListener {
 public:
  explicit StepCollector(StepLimits limits, double (*now)() = steady_seconds);
  ~StepCollector() override;

  // A fit or a task begins, whose first steps are cold.
  void run_began();
  // The steps of a task, which has no spans for them: what no span covers is a function of the recipe.
  void step_began();
  void step_ended() noexcept;
  bool in_step() const { return in_step_; }

  void began(Phase phase, std::string_view name) override;  // raises SeenEnough where the next step would begin
  void ended(Phase phase, std::string_view name) noexcept override;

  bool is_done() const { return stage_ == Stage::done; }
  std::int64_t measured() const { return timed_steps_ + counted_steps_; }
  StepFigures figures();

 private:
  enum class Stage { cold, timing, counting, done };
  struct Block {
    double seconds = 0;
    std::int64_t steps = 0;
  };

  void charge();  // adds the time since the last call to where it belongs
  void settle_phase();
  void open_step(Phase frame);
  void step_is_over(double now) noexcept;
  void add_to_block(double seconds);
  bool is_precise();
  // Seconds of a step in each of the blocks, which are joined until they last so long.
  std::vector<double> block_means(double least_seconds) const;
  void settle_thread();

  const StepLimits limits_;
  double (*const now_)();

  std::vector<Phase> open_;
  Phase phase_ = Phase::step;              // the innermost that is open
  Phase counted_phase_ = Phase::validate;  // where operators are counted: validate stands for all that is no step
  double last_ = 0;
  bool in_step_ = false;
  std::size_t apart_ = 0;      // open_.size() when the outermost validation or commit under way had begun, else 0
  bool apart_counts_ = false;  // whether that is one of those that recur: not the evaluation of the test part
  double apart_began_ = 0, apart_metrics_ = 0;
  PhaseSeconds step_{};                 // of the step under way
  double callbacks_ = 0, between_ = 0;  // since the step before
  bool validated_since_ = false;

  Stage stage_ = Stage::cold, goal_ = Stage::timing;
  std::int64_t cold_left_ = 0, cold_steps_ = 0, timed_steps_ = 0, counted_steps_ = 0;
  double started_ = 0, cold_seconds_ = 0, counted_seconds_ = 0;
  PhaseSeconds timed_{}, counted_{};
  double timed_callbacks_ = 0, timed_between_ = 0;
  std::vector<Block> blocks_;
  Block block_;
  std::int64_t block_steps_ = 1;  // of a block
  double unchecked_ = 0;          // seconds since the interval was looked at
  std::vector<double> validations_, commits_;
  std::int64_t commits_since_ = 0, timed_commits_ = 0;      // since the step before; between timed steps
  double validation_seconds_ = 0, validation_metrics_ = 0;  // sums
  bool thread_runs_ = false;  // thread_before_ holds the figures from which the present ones count
  ThreadFigures thread_before_, thread_;
  std::array<OperatorFigures, phase_count> tally_{};
  std::unique_ptr<OperatorCount> counting_;
};

}  // namespace trainlab
