// Recording: what the thread that trains does in steps, as time, operators, bytes and arithmetic of each layer and each
// phase. Listens to the spans and to the operators of its own thread. Private to the room.
//
// At each moment the time goes to one row: the innermost span's, or, in the backward pass, that of the span in which
// the function now running was made in the forward pass. LibTorch numbers the functions of the backward pass by thread
// in the order in which the forward pass makes them, so that each span owns an interval of numbers. A function that
// adds to a parameter's gradient has no number; it comes directly after the function that has made the gradient, and
// belongs to the same row.
//
// Looking at the tensors of each operator costs several times as much as asking for the time. So some steps are counted
// and others are timed, in turns with plain steps, which tell what the timing costs.
#pragma once

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

namespace trainlab {

// Seconds are sums over the timed steps, all else over the counted steps.
struct OperatorSums {
  double seconds = 0;  // without the operators that the operator calls
  double bytes = 0;    // without those that these operators move
  double flops = 0;
  std::int64_t calls = 0;
};

enum class StepUse { none, counted, timed, plain };

struct RowSums {
  std::string path;
  bool is_layer = false;
  double forward = 0, backward = 0;  // seconds, without the rows inside
  std::int64_t calls = 0;            // spans that began outside of a backward pass
  std::map<std::string, OperatorSums, std::less<>> operators;
  std::unordered_map<const OperatorKind*, OperatorSums*> by_kind;  // the same, of which several may share a name
};

class Recording final : public TraceListener, public OperatorListener {
 public:
  // From step `first` on counts, times and lets pass `count` steps each, in turns. Steps count from 0. To be used on
  // the thread that makes it.
  Recording(std::int64_t first, std::int64_t count) : first_(first), count_(count) {}

  void began(Phase phase, std::string_view name) override;
  void ended(Phase phase, std::string_view name) noexcept override;

  StepUse use_of(std::int64_t step) const {
    constexpr std::array turns{StepUse::counted, StepUse::timed, StepUse::plain};
    const bool is_within = step >= first_ && step < steps_needed();
    return is_within ? turns[static_cast<std::size_t>((step - first_) % 3)] : StepUse::none;
  }
  // The steps after which nothing is left to record.
  std::int64_t steps_needed() const { return first_ + 3 * count_; }

  // In the order in which the rows began first: a layer before those inside.
  const std::vector<std::unique_ptr<RowSums>>& rows() const { return rows_; }
  std::int64_t counted() const { return counted_; }
  // The seconds of each timed step, and of each plain one.
  const std::vector<double>& timed() const { return timed_; }
  const std::vector<double>& plain() const { return plain_; }

 private:
  void function_began(const at::RecordFunction& function) override;
  void function_ended(const at::RecordFunction& function) override;

  struct Frame {
    RowSums* row;
    bool is_backward;
    const char* name = nullptr;  // where the operator keeps its name; null in frames of no operator, as the next two
    const OperatorKind* kind = nullptr;
    OperatorSums* sums = nullptr;
    double bytes = 0, moved_inside = 0;
    Products products = {};
  };
  // The functions of the backward pass from number `first` on belong to the row, up to the next owner.
  struct Owner {
    std::uint64_t first;
    RowSums* row;
  };

  RowSums* row(std::string_view path, bool is_layer);
  RowSums* row_of(Phase phase, std::string_view name);
  RowSums* owner_of(std::int64_t sequence);
  const OperatorKind* kind_of(const at::RecordFunction& function);
  // In a timed step, the time since the last call goes to the innermost frame.
  void charge();
  void push(const Frame& frame);
  void pop();
  // What autograd is told from here on belongs to the innermost frame.
  void own();
  void begin_step();
  bool is_heard() const { return use_ == StepUse::counted || use_ == StepUse::timed; }
  void count_work(const at::RecordFunction& function, const Frame& frame);

  const std::int64_t first_, count_;
  std::int64_t step_ = 0;   // that is running or comes next
  double step_began_ = 0, last_ = 0;
  StepUse use_ = StepUse::none;
  std::optional<ListeningToOperators> hearing_;
  std::vector<Frame> frames_;
  std::int64_t inside_ = 0;  // operators begun within one with products, that one included
  std::vector<Owner> owners_;
  RowSums* differentiated_ = nullptr;  // whose function of the backward pass began last
  std::map<std::string, RowSums*, std::less<>> by_path_;
  std::vector<std::unique_ptr<RowSums>> rows_;
  std::unordered_map<const char*, OperatorKind> kinds_;  // by the address of the operator's name
  std::int64_t counted_ = 0;
  std::vector<double> timed_, plain_;
};

}  // namespace trainlab
