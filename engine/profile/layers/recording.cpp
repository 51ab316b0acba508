#include "recording.h"

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "core/clock.h"
#include "core/random/stream.h"
#include "core/statistics.h"
#include "function_path.h"
#include "ticks.h"

namespace trainlab {

std::optional<double> TimedSteps::overhead(double plain, double reading) const {
  if (std::ssize(seconds) < LayerSteps::few) return std::nullopt;
  const double longer = upper_median(seconds) - plain;
  const double most = reading * static_cast<double>(readings) / static_cast<double>(seconds.size());
  return longer >= 0 && longer <= most ? std::optional(longer / plain) : std::nullopt;
}

Recording::Recording(const LayerSteps& steps) : steps_(steps), made_at_(steady_seconds()), cold_(steps.first) {}

void Recording::run_began() {
  ++run_;
  step_ = round_ = 0;
  coming_.clear();
}

void Recording::run_ended() {
  if (!is_done_) ++whole_runs_;
  is_done_ = steps_.is_enough(fewest(), steady_seconds() - made_at_);
}

bool Recording::lower_cold() {
  if (cold_ <= 1) return false;
  cold_ = std::max<std::int64_t>(cold_ / 4, 1);
  return true;
}

std::int64_t Recording::fewest() const {
  return std::min(
      {std::ssize(counted_), std::ssize(row_steps_.seconds), std::ssize(operator_steps_.seconds), std::ssize(plain_)});
}

StepUse Recording::next_use() {
  if (is_done_ || step_ < cold_) return StepUse::none;
  if (coming_.empty()) draw_round();
  const StepUse use = coming_.front();
  coming_.pop_front();
  return use;
}

void Recording::draw_round() {
  const std::int64_t round = round_++;
  if (!steps_.settles() || round == 0) {
    for (std::int64_t i = 0; i < uses_of_steps; ++i)
      coming_.push_back(turns[static_cast<std::size_t>((run_ + round + i) % uses_of_steps)]);
    return;
  }
  const Key key = Key(static_cast<std::uint64_t>(run_)).fold(static_cast<std::uint64_t>(round));
  // Without a step more in some of the rounds, the rounds themselves would come with each fifth step.
  if (Stream(key.fold("longer")).below(2) == 0) coming_.push_back(StepUse::none);
  for (const std::int64_t turn : permutation(key, uses_of_steps)) {
    const StepUse use = turns[static_cast<std::size_t>(turn)];
    if (use == StepUse::plain) coming_.push_back(StepUse::none);
    coming_.push_back(use);
  }
}

RowSums* Recording::row(std::string_view path, bool is_layer) {
  if (const auto found = by_path_.find(path); found != by_path_.end()) return found->second;
  rows_.push_back(std::make_unique<RowSums>());
  rows_.back()->path = path;
  rows_.back()->is_layer = is_layer;
  return by_path_.emplace(path, rows_.back().get()).first->second;
}

RowSums* Recording::row_of(Phase phase, std::string_view name) {
  switch (phase) {
    case Phase::layer: return row(name, true);
    case Phase::callback: return row(function_path(name), false);
    // The own time of these two phases lies between the spans inside them.
    case Phase::step:
    case Phase::forward: return row("other", false);
    default: return row(phase_name(phase), false);
  }
}

void Recording::charge() {
  if (!is_timed()) return;
  const std::uint64_t now = ticks(), since = now - last_;
  const Frame& frame = frames_.back();
  const auto add = [since](Ticks& to) {
    to.ticks += since;
    ++to.readings;
  };
  if (use_ == StepUse::operators) {
    ++operator_steps_.readings;
    add(frame.row->in_operator_steps);
    if (frame.sums) add(frame.sums->time);
  } else {
    ++row_steps_.readings;
    add(frame.is_backward ? frame.row->backward : frame.row->forward);
  }
  last_ = now;
}

void Recording::own() {
  RowSums* const row = frames_.back().row;
  if (!owners_.empty() && owners_.back().row == row) return;
  const std::uint64_t next = at::sequence_number::peek();
  if (!owners_.empty() && owners_.back().first == next) {
    owners_.back().row = row;
  } else {
    owners_.push_back({next, row});
  }
}

RowSums* Recording::owner_of(std::int64_t sequence) {
  // A function without a number adds to a parameter's gradient.
  if (sequence < 0) return differentiated_ ? differentiated_ : frames_.back().row;
  const auto number = static_cast<std::uint64_t>(sequence);
  const auto after = std::ranges::upper_bound(owners_, number, {}, &Owner::first);
  // Functions of earlier steps have no owner.
  return differentiated_ = after == owners_.begin() ? frames_.back().row : (after - 1)->row;
}

void Recording::push(const Frame& frame) {
  frames_.push_back(frame);
  own();
}

void Recording::begin_step() {
  use_ = next_use();
  if (!is_heard()) return;
  frames_.clear();
  owners_.clear();
  inside_ = 0;
  differentiated_ = nullptr;
  hearing_.emplace(*this, use_ == StepUse::rows      ? Hearing::backward_functions
                          : use_ == StepUse::counted ? Hearing::tensors
                                                     : Hearing::operators);
}

void Recording::began(Phase phase, std::string_view name) {
  const bool is_step = phase == Phase::step;
  if (is_step) {
    begin_step();
    step_began_ = steady_seconds();
    ticks_began_ = last_ = ticks();
  }
  if (!is_heard()) return;
  if (!is_step) charge();
  const bool is_again = !frames_.empty() && frames_.back().is_backward;
  RowSums* const begun = row_of(phase, name);
  const bool is_inside = !frames_.empty() && frames_.back().row == begun;  // the function of a layer, in the layer
  if (use_ == StepUse::counted && !is_again && !is_inside && phase != Phase::forward) ++begun->calls;
  push({.row = begun, .is_backward = is_again || phase == Phase::backward});
}

void Recording::ended(Phase phase, std::string_view) noexcept {
  if (is_heard()) {
    charge();
    frames_.pop_back();
    if (!frames_.empty()) own();
  }
  if (phase != Phase::step) return;
  const double seconds = steady_seconds() - step_began_;
  hearing_.reset();
  if (use_ == StepUse::rows) {
    row_steps_.add(seconds, last_ - ticks_began_);
    std::vector<PassTicks>& of_step = ticks_of_steps_.emplace_back();
    for (const auto& row : rows_)
      of_step.push_back({.forward = std::exchange(row->forward, {}), .backward = std::exchange(row->backward, {})});
  }
  if (step_ >= cold_ && !is_done_) used_steps_.push_back({use_, seconds, step_});
  if (use_ == StepUse::operators) operator_steps_.add(seconds, last_ - ticks_began_);
  if (use_ == StepUse::plain) plain_.push_back(seconds);
  if (use_ == StepUse::counted) counted_.push_back(step_);
  if (use_ != StepUse::none) ++measured_;
  use_ = StepUse::none;
  ++step_;
  const double took = steady_seconds() - made_at_;
  const bool awaits_end = steps_.in_whole_runs && whole_runs_ > 0 && took <= steps_.longest;
  is_done_ = !awaits_end && steps_.is_enough(fewest(), took);
}

std::vector<PassTicks> Recording::middle_ticks() const {
  std::vector<std::size_t> by_length(ticks_of_steps_.size());
  std::iota(by_length.begin(), by_length.end(), std::size_t{0});
  std::ranges::stable_sort(by_length, {}, [this](std::size_t step) { return row_steps_.seconds[step]; });
  const std::size_t left_out = by_length.size() / 3;
  std::vector<PassTicks> sums(rows_.size());
  for (std::size_t i = left_out; i < by_length.size() - left_out; ++i) {
    const std::vector<PassTicks>& of_step = ticks_of_steps_[by_length[i]];
    for (std::size_t row = 0; row < of_step.size(); ++row) {
      sums[row].forward += of_step[row].forward;
      sums[row].backward += of_step[row].backward;
    }
  }
  return sums;
}

void Recording::step_began() {
  began(Phase::step, {});
  began(Phase::callback, own_step);
}

void Recording::step_ended() noexcept {
  ended(Phase::callback, own_step);
  ended(Phase::step, {});
}

const OperatorKind* Recording::kind_of(const at::RecordFunction& function) {
  const char* const name = function.name();
  const auto found = kinds_.find(name);
  if (found != kinds_.end()) return &found->second;
  // A record of anything but an operator owns its name, so the address of this name identifies nothing.
  const std::optional<OperatorKind> kind = operator_kind(function);
  return kind ? &kinds_.emplace(name, *kind).first->second : nullptr;
}

const RowSums::Known* Recording::known(RowSums& row, const at::RecordFunction& function, const char* name) {
  for (const RowSums::Known& one : row.known)
    if (one.name == name) return &one;
  const OperatorKind* const kind = kind_of(function);
  if (!kind) return nullptr;
  row.known.push_back({.name = name, .kind = kind, .sums = &row.operators[name]});
  return &row.known.back();
}

void Recording::function_began(const at::RecordFunction& function) {
  if (inside_ > 0) {
    ++inside_;
    return;
  }
  const Frame& outer = frames_.back();
  if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) {
    charge();
    return push({.row = owner_of(function.seqNr()), .is_backward = true});
  }
  const char* const name = function.name();
  const RowSums::Known* const of_row = known(*outer.row, function, name);
  if (!of_row) return;
  charge();
  const OperatorKind* const kind = of_row->kind;
  Frame frame{.row = outer.row, .is_backward = outer.is_backward, .name = name, .kind = kind, .sums = of_row->sums};
  if (use_ == StepUse::counted) {
    if (kind->moves)
      frame.bytes = tensor_bytes(function.inputs(), kind->reads) + tensor_bytes(function.inputs(), kind->writes);
    if (kind->products) frame.products = kind->products(function.inputs());
  }
  if (kind->products) inside_ = 1;
  frames_.push_back(frame);
}

void Recording::function_ended(const at::RecordFunction& function) {
  if (inside_ > 0 && --inside_ > 0) return;
  if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) {
    charge();
    // The layer of this function also gets autograd's work up to the next function, such as summing gradients for a
    // bias.
    RowSums* const differentiated = frames_.back().row;
    frames_.pop_back();
    if (frames_.back().is_backward && !frames_.back().kind) frames_.back().row = differentiated;
    return own();
  }
  if (frames_.back().name != function.name()) return;
  charge();
  const Frame frame = frames_.back();
  frames_.pop_back();
  if (use_ == StepUse::counted) count_work(function, frame);
}

void Recording::count_work(const at::RecordFunction& function, const Frame& frame) {
  const auto& outputs = function.outputs();
  ++frame.sums->calls;
  double own_bytes = 0;
  if (frame.kind->moves) {
    const c10::ArrayRef<const c10::IValue> values(outputs.data(), outputs.size());
    const double all = frame.bytes + tensor_bytes(values, ~std::uint64_t{0});
    own_bytes = std::max(all - frame.moved_inside, 0.0);
  }
  frame.sums->bytes += own_bytes;
  frames_.back().moved_inside += own_bytes + frame.moved_inside;
  if (!frame.kind->products) return;
  double flops = frame.products.fixed;
  if (frame.products.per_output_value > 0 && !outputs.empty())
    flops += frame.products.per_output_value * static_cast<double>(outputs[0].toTensor().numel());
  frame.sums->flops += flops;
  // Some products leave out the outputs that nobody asked for.
  const auto output =
      std::ranges::find_if(outputs, [](const c10::IValue& one) { return one.isTensor() && one.toTensor().defined(); });
  if (output != outputs.end()) flops_[output->toTensor().scalar_type()] += flops;
}

std::optional<at::ScalarType> Recording::type() const {
  const auto most = std::ranges::max_element(flops_, {}, [](const auto& one) { return one.second; });
  return most == flops_.end() ? std::nullopt : std::optional(most->first);
}

}  // namespace trainlab
