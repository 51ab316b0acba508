// Recording: the time, operators, bytes and arithmetic of each layer and each phase of the steps of a training. Listens
// to the spans and to the operators of its own thread. Private to the room.
//
// At each moment the time goes to one row: the innermost span's, or, in the backward pass, that of the span in which
// the function now running was made in the forward pass. LibTorch numbers the functions of the backward pass by thread
// in the order in which the forward pass makes them, so that each span owns an interval of numbers. A function that
// adds to a parameter's gradient has no number; it comes directly after the function that has made the gradient, and
// belongs to the same row.
//
// Looking at the tensors of each operator takes several times as long as reading the clock. So counted steps, timed
// steps and plain steps take turns; the plain ones show how much time the timing adds.
#pragma once

#include <c10/core/ScalarType.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/trace.h"
#include "listening_to_operators.h"
#include "operator_kind.h"
#include "steps/task_steps.h"

namespace trainlab {

// Sums over the timed steps: ticks of the clock, of which Recording::tick_seconds() is the time of one, and how often
// the clock was read in this time.
struct Ticks {
  std::uint64_t ticks = 0, readings = 0;
};

// All members but the ticks are sums over the counted steps.
struct OperatorSums {
  Ticks time;        // without the operators that this operator calls
  double bytes = 0;  // bytes without those that these operators move
  double flops = 0;
  std::int64_t calls = 0;
};

enum class StepUse { none, counted, timed, plain };

struct RowSums {
  std::string path;
  bool is_layer = false;
  Ticks forward, backward;  // without the rows inside
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
  // From step `first` on, counted from 0, counts `count` steps, times as many, and leaves as many alone, in turns. To
  // be used on the thread that makes the object.
  Recording(std::int64_t first, std::int64_t count) : first_(first), count_(count) {}

  void began(Phase phase, std::string_view name) override;
  void ended(Phase phase, std::string_view name) noexcept override;

  // In a task's step, time that no span covers is the recipe's own step.
  void step_began() override;
  void step_ended() noexcept override;
  bool is_done() const override { return step_ >= steps_needed(); }

  StepUse use_of(std::int64_t step) const {
    constexpr std::array turns{StepUse::counted, StepUse::timed, StepUse::plain};
    const bool is_within = step >= first_ && step < steps_needed();
    return is_within ? turns[static_cast<std::size_t>((step - first_) % 3)] : StepUse::none;
  }
  // The number of steps after which nothing is left to record.
  std::int64_t steps_needed() const { return first_ + 3 * count_; }

  // The rows in the order of their first beginnings: a layer before the layers inside.
  const std::vector<std::unique_ptr<RowSums>>& rows() const { return rows_; }
  std::int64_t counted() const { return counted_; }
  // The type of the numbers of the products that have most of the FLOPs; nullopt where there were none.
  std::optional<at::ScalarType> type() const;
  double tick_seconds() const { return timed_ticks_ > 0 ? timed_seconds_ / static_cast<double>(timed_ticks_) : 0; }
  // The seconds of each timed step, and of each plain one.
  const std::vector<double>& timed() const { return timed_; }
  const std::vector<double>& plain() const { return plain_; }

 private:
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

  RowSums* row(std::string_view path, bool is_layer);
  RowSums* row_of(Phase phase, std::string_view name);
  RowSums* owner_of(std::int64_t sequence);
  // The row of the operator; null where the record of this name belongs to no operator.
  const RowSums::Known* known(RowSums& row, const at::RecordFunction& function, const char* name);
  const OperatorKind* kind_of(const at::RecordFunction& function);
  // In a timed step, the time since the last call goes to the innermost frame.
  void charge();
  void push(const Frame& frame);
  void pop();
  // The functions of the backward pass that are made from here on belong to the innermost frame.
  void own();
  void begin_step();
  bool is_heard() const { return use_ == StepUse::counted || use_ == StepUse::timed; }
  void count_work(const at::RecordFunction& function, const Frame& frame);

  const std::int64_t first_, count_;
  std::int64_t step_ = 0;  // the step that is running or comes next
  double step_began_ = 0;  // seconds
  std::uint64_t ticks_began_ = 0, last_ = 0;
  double timed_seconds_ = 0;       // of the timed steps
  std::uint64_t timed_ticks_ = 0;  // of the same
  StepUse use_ = StepUse::none;
  std::optional<ListeningToOperators> hearing_;
  std::vector<Frame> frames_;
  std::int64_t inside_ = 0;  // open operators within an operator with products, including that operator
  std::vector<Owner> owners_;
  RowSums* differentiated_ = nullptr;  // the row whose function of the backward pass began last
  std::map<std::string, RowSums*, std::less<>> by_path_;
  std::vector<std::unique_ptr<RowSums>> rows_;
  std::unordered_map<const char*, OperatorKind> kinds_;  // by the address of the operator's name
  std::int64_t counted_ = 0;
  std::map<at::ScalarType, double> flops_;  // of the products, by the type of what they give
  std::vector<double> timed_, plain_;
};

}  // namespace trainlab
