// Recording: the time, operators, bytes and arithmetic of each layer and each phase of the steps of a training. Listens
// to the spans and to the operators of its own thread. Private to the room.
//
// At each moment the time goes to one row: the innermost span's, or, in the backward pass, that of the span in which
// the function now running was made in the forward pass. LibTorch numbers the functions of the backward pass by thread
// in the order in which the forward pass makes them, so that each span owns an interval of numbers. A function that
// adds to a parameter's gradient has no number; it comes directly after the function that has made the gradient, and
// belongs to the same row.
//
// Reading the clock at each operator lengthens a short step by a tenth, and looking at the operators' tensors takes
// several times as long. So four uses of a step take turns: counted steps look at tensors; row steps read the clock
// where one row ends and another begins; operator steps read the clock at each operator as well, which tells how a
// row's time is divided among its operators; plain steps show how much time the timing adds. A training that is too
// short for all of them is run again, and its first steps are cold each time. Where steps settle (LayerSteps::settles),
// one step that is left out comes before each plain one, but in the first round of turns of each run, so that a run of
// few steps adds as many steps.
#pragma once

#include <c10/core/ScalarType.h>

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/trace.h"
#include "listening_to_operators.h"
#include "mean_step.h"
#include "operator_kind.h"
#include "profile/layers.h"
#include "steps/task_steps.h"

namespace trainlab {

// Sums over steps of one use: ticks of the clock, and how often the clock was read in this time.
struct Ticks {
  std::uint64_t ticks = 0, readings = 0;

  Ticks& operator+=(const Ticks& more) {
    ticks += more.ticks;
    readings += more.readings;
    return *this;
  }
};

// All members but the ticks are sums over the counted steps.
struct OperatorSums {
  Ticks time;        // in operator steps, without the operators that this operator calls
  double bytes = 0;  // bytes without those that these operators move
  double flops = 0;
  std::int64_t calls = 0;
};

// The steps of one use that were timed.
struct TimedSteps {
  std::vector<double> seconds = {};  // of each
  std::uint64_t ticks = 0;           // of all together
  std::uint64_t readings = 0;        // of the clock, in all together

  void add(double one, std::uint64_t of_one) {
    seconds.push_back(one);
    ticks += of_one;
  }
  // How much longer such a step takes than a plain one of `plain` seconds, where a reading of the clock takes at most
  // `reading` seconds: see LayerTable::overhead.
  std::optional<double> overhead(double plain, double reading) const;
};

// The ticks of a row in both passes.
struct PassTicks {
  Ticks forward, backward;
};

struct RowSums {
  std::string path;
  bool is_layer = false;
  Ticks forward, backward;  // in the row step that is running, without the rows inside
  Ticks in_operator_steps;  // forward and backward, without the rows inside
  std::int64_t calls = 0;   // spans that began outside of a backward pass
  std::map<std::string, OperatorSums, std::less<>> operators;
  // The row's operators by the address of their name, and where they are added up: several kinds may share a name. Rows
  // have few, so that to look through them takes less time than a hash.
  struct Known {
    const char* name;
    const OperatorKind* kind;
    OperatorSums* sums;
  };
  std::vector<Known> known;
};

class Recording final : public TraceListener, public TaskStepListener, public OperatorListener {
 public:
  // To be used on the thread that makes the object, which is the beginning of LayerSteps::seconds.
  explicit Recording(const LayerSteps& steps);

  void began(Phase phase, std::string_view name) override;
  void ended(Phase phase, std::string_view name) noexcept override;

  // In a task's step, time that no span covers is the recipe's own step.
  void step_began() override;
  void step_ended() noexcept override;
  // Known at the end of each step, so that no step is left in its midst.
  bool is_done() const override { return is_done_; }

  // To be called before each run of the stage, and after each that has ended without an error.
  void run_began();
  void run_ended();
  // Steps of all uses and runs.
  std::int64_t measured() const { return measured_; }
  // See run_until_measured().
  bool lower_cold();
  // The steps of the use that has fewest.
  std::int64_t fewest() const;

  // The rows in the order of their first beginnings: a layer before the layers inside.
  const std::vector<std::unique_ptr<RowSums>>& rows() const { return rows_; }
  // The numbers, from 0, that the counted steps had in their runs.
  const std::vector<std::int64_t>& counted() const { return counted_; }
  // The type of the numbers of the products that have most of the FLOPs; nullopt where there were none.
  std::optional<at::ScalarType> type() const;
  const TimedSteps& row_steps() const { return row_steps_; }
  // The ticks of each row in the third of the row steps whose lengths lie in the middle, in the order of rows(). Single
  // steps that wait long, for batches say, would take most of a sum over all steps, which a median step does not.
  std::vector<PassTicks> middle_ticks() const;
  const TimedSteps& operator_steps() const { return operator_steps_; }
  // All steps but the cold ones, in their order.
  const std::vector<UsedStep>& used_steps() const { return used_steps_; }
  // Whether they are those of whole runs of the stage, as LayerSteps::in_whole_runs asks.
  bool has_whole_runs() const { return steps_.in_whole_runs && whole_runs_ == run_ + 1; }
  // The seconds of each plain step.
  const std::vector<double>& plain() const { return plain_; }

 private:
  // The last one is that of a plain step.
  static constexpr std::array<StepUse, uses_of_steps> turns{StepUse::counted, StepUse::rows, StepUse::operators,
                                                            StepUse::plain};

  void function_began(const at::RecordFunction& function) override;
  void function_ended(const at::RecordFunction& function) override;

  struct Frame {
    RowSums* row;
    bool is_backward;
    const char* name = nullptr;  // the operator's own text; null in frames of no operator, as the next two
    const OperatorKind* kind = nullptr;
    OperatorSums* sums = nullptr;
    double bytes = 0, moved_inside = 0;
    Products products = {};
  };
  // The functions of the backward pass from number `first` up to the next owner's `first` belong to the row.
  struct Owner {
    std::uint64_t first;
    RowSums* row;
  };

  // The use of the step that begins.
  StepUse next_use();
  // The uses of the steps of one round, in which each use has its turn. Work of each fifth or hundredth step, as a
  // validation that a task does by itself or the smaller batch at the end of an epoch, must not always meet the same
  // use. A short measurement, and the first round of each run, goes through the uses in turn and begins with the next
  // one in each round and each run. In other rounds the order is drawn.
  void draw_round();
  RowSums* row(std::string_view path, bool is_layer);
  RowSums* row_of(Phase phase, std::string_view name);
  RowSums* owner_of(std::int64_t sequence);
  // The row of the operator; null where the record of this name belongs to no operator.
  const RowSums::Known* known(RowSums& row, const at::RecordFunction& function, const char* name);
  const OperatorKind* kind_of(const at::RecordFunction& function);
  // In a row step or an operator step, the time since the last call goes to the innermost frame.
  void charge();
  void push(const Frame& frame);
  // The functions of the backward pass that are made from here on belong to the innermost frame.
  void own();
  void begin_step();
  bool is_timed() const { return use_ == StepUse::rows || use_ == StepUse::operators; }
  bool is_heard() const { return use_ == StepUse::counted || is_timed(); }
  void count_work(const at::RecordFunction& function, const Frame& frame);

  const LayerSteps steps_;
  const double made_at_;   // seconds
  std::int64_t cold_;      // steps at the beginning of each run that are not measured
  std::int64_t run_ = -1;  // the number of the run, from 0
  std::int64_t whole_runs_ = 0;
  std::int64_t step_ = 0;  // the step of the run that is running or comes next
  std::int64_t measured_ = 0;
  bool is_done_ = false;
  double step_began_ = 0;  // seconds
  std::uint64_t ticks_began_ = 0, last_ = 0;
  StepUse use_ = StepUse::none;
  std::int64_t round_ = 0;      // rounds of this run
  std::deque<StepUse> coming_;  // the uses of the next steps
  std::optional<ListeningToOperators> hearing_;
  std::vector<Frame> frames_;
  std::int64_t inside_ = 0;  // open operators within an operator with products, including that operator
  std::vector<Owner> owners_;
  RowSums* differentiated_ = nullptr;  // the row whose function of the backward pass began last
  std::map<std::string, RowSums*, std::less<>> by_path_;
  std::vector<std::unique_ptr<RowSums>> rows_;
  std::unordered_map<const char*, OperatorKind> kinds_;  // by the address of the operator's name
  std::vector<std::int64_t> counted_;
  std::map<at::ScalarType, double> flops_;  // of the products, by the type of what they give
  TimedSteps row_steps_, operator_steps_;
  std::vector<UsedStep> used_steps_;
  std::vector<std::vector<PassTicks>> ticks_of_steps_;  // of each row step, of the rows that there were until then
  std::vector<double> plain_;
};

}  // namespace trainlab
