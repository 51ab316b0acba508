// RuleOptimizer: an optimizer whose update is elementwise, made from a rule: its settings and the kernel's numbers.
//
//   struct Rule {
//     explicit Rule(const Options& options);               // of one group of parameters
//     static constexpr const char* states[] = {"exp_avg"}; // in the order of the kernel's pointers
//     bool uses(std::size_t state) const;                  // whether the options need that state
//     bool counts_steps() const;
//     static constexpr const char* scalars[] = {"eta"};    // if any: numbers kept for each parameter and row
//     static constexpr bool squares[] = {false};           // with the option `state`: states of values ≥ 0
//     Slice numbers(const StepNumbers& now, std::span<double> kept) const;  // for the kernel; `kept`: the scalars
//   };
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels.h"
#include "lean.h"
#include "set_optimizer.h"
#include "whole.h"

namespace trainlab {

template <class Rule>
class RuleOptimizer : public SetOptimizer {
 public:
  RuleOptimizer(std::span<const Options> specs, std::vector<OptimizedParameter> parameters, std::int64_t members,
                bool has_fused = false, at::Device steps_device = at::kCPU)
      : SetOptimizer(specs, std::move(parameters), members, has_fused) {
    for (std::int64_t row = 0; row < set_.rows(); ++row)
      for (std::size_t i = 0; i < set_.size(); ++i) rules_.emplace_back(options_.options(row, i));
    // Checks the options, even if there are no parameters.
    if (rules_.empty()) Rule{specs.front()};
    choose_formats();
    places_.fill(-1);
    int next = 0;
    for (std::size_t s = 0; s < state_count; ++s) {
      if (std::ranges::none_of(rules_, [s](const Rule& rule) { return rule.uses(s); })) continue;
      for (std::size_t i = 0; i < set_.size(); ++i) add_state(i, Rule::states[s]);
      places_[s] = next++;
    }
    if (std::ranges::any_of(rules_, &Rule::counts_steps)) set_.add_steps(steps_device);
    if constexpr (has_scalars) {
      for (const char* name : Rule::scalars) set_.add_scalars(name);
    }
  }

 protected:
  const Rule& rule(std::int64_t row, std::size_t i) const {
    return rules_[static_cast<std::size_t>(row) * set_.size() + i];
  }
  // The place of a state among the states of a parameter; −1 if no rule needs it.
  int state_place(std::size_t state) const { return places_[state]; }

  void step_slice(std::size_t i, std::int64_t row, const at::Tensor& gradient, const StepNumbers& now) final {
    if (gradient.is_meta()) return;  // a dry run: the CPU's loop takes no memory
    if constexpr (may_be_lean) {
      if (formats_[i] != StateFormat::full) return update_lean(i, row, gradient, now);
    }
    if (!gradient.is_cpu()) {
      update_whole(i, row, gradient, now);
    } else if (gradient.scalar_type() == at::kFloat) {
      update_slice<float>(i, row, gradient, now);
    } else {
      update_slice<double>(i, row, gradient, now);
    }
  }

 private:
  static constexpr std::size_t state_count = std::size(Rule::states);
  static constexpr bool may_be_lean = requires { Rule::squares; };
  static constexpr bool has_scalars = requires { Rule::scalars; };

  void choose_formats() {
    for (std::size_t i = 0; i < set_.size(); ++i) {
      formats_.push_back(state_format(options_.options(0, i), set_.values(i)));
      for (std::int64_t row = 1; row < set_.rows(); ++row)
        if (state_format(options_.options(row, i), set_.values(i)) != formats_[i])
          throw std::logic_error("optimizer: members that keep their state in different forms");
    }
  }

  void add_state(std::size_t i, const std::string& name) {
    const at::Tensor& value = set_[i].parameter.value;
    const std::vector<std::int64_t> shape = value.sizes().slice(set_.members() ? 1 : 0).vec();
    switch (formats_[i]) {
      case StateFormat::full: return set_.add_state(i, name, shape, value.scalar_type());
      case StateFormat::bfloat16: return set_.add_state(i, name, shape, at::kBFloat16);
      case StateFormat::codes:
        set_.add_state(i, name, shape, at::kByte);
        set_.add_state(i, name + ".largest", {(set_.values(i) + lean_block - 1) / lean_block}, at::kFloat);
    }
  }

  auto numbers_of(std::int64_t row, std::size_t i, const StepNumbers& now) const {
    if constexpr (!has_scalars) {
      return rule(row, i).numbers(now, {});
    } else {
      std::array<double, std::size(Rule::scalars)> kept;
      for (std::size_t k = 0; k < kept.size(); ++k) kept[k] = set_.scalar(row, i, k);
      const auto slice = rule(row, i).numbers(now, kept);
      for (std::size_t k = 0; k < kept.size(); ++k) set_.scalar(row, i, k) = kept[k];
      return slice;
    }
  }

  // Host memory: one loop.
  template <class T>
  void update_slice(std::size_t i, std::int64_t row, const at::Tensor& gradient, const StepNumbers& now) {
    OptimizerSlot& slot = set_[i];
    const std::int64_t n = gradient.numel() / set_.rows(), first = row * n;
    const auto slice = numbers_of(row, i, now);
    T* const p = slot.parameter.value.template mutable_data_ptr<T>() + first;
    const T* const g = gradient.template const_data_ptr<T>() + first;
    std::array<T*, state_count> states{};
    for (std::size_t s = 0; s < state_count; ++s) {
      if (places_[s] < 0) continue;
      states[s] = slot.state[static_cast<std::size_t>(places_[s])].template mutable_data_ptr<T>() + first;
    }
    update(p, g, states.data(), n, slice);
  }

  LeanState lean_state(std::size_t i, std::int64_t row, std::size_t s, const StepNumbers& now) const {
    const bool codes = formats_[i] == StateFormat::codes;
    const std::size_t place = static_cast<std::size_t>(places_[s]) * (codes ? 2 : 1);
    const std::int64_t member = set_.members() ? row : -1;
    return {.format = formats_[i],
            .is_square = Rule::squares[s],
            .key = rounding_key(i, s, now.t),
            .values = OptimizerSlot::slice(set_[i].state[place], member),
            .largest = codes ? OptimizerSlot::slice(set_[i].state[place + 1], member) : at::Tensor()};
  }

  void update_lean(std::size_t i, std::int64_t row, const at::Tensor& gradient, const StepNumbers& now) {
    std::array<LeanState, state_count> stored;
    for (std::size_t s = 0; s < state_count; ++s)
      if (places_[s] >= 0) stored[s] = lean_state(i, row, s, now);
    const auto slice = numbers_of(row, i, now);
    if (gradient.is_cpu()) {
      if (gradient.scalar_type() == at::kFloat) return update_blocks<float>(i, row, gradient, stored, slice);
      return update_blocks<double>(i, row, gradient, stored, slice);
    }
    const std::int64_t member = set_.members() ? row : -1;
    std::array<at::Tensor, state_count> states;
    for (std::size_t s = 0; s < state_count; ++s)
      if (places_[s] >= 0) states[s] = read_state(stored[s], gradient.scalar_type());
    update(OptimizerSlot::slice(set_[i].parameter.value, member), OptimizerSlot::slice(gradient, member), states,
           slice);
    for (std::size_t s = 0; s < state_count; ++s)
      if (places_[s] >= 0) write_state(stored[s], states[s]);
  }

  // Host memory: the loop over one block of the states after the other.
  template <class T, class Slice>
  void update_blocks(std::size_t i, std::int64_t row, const at::Tensor& gradient,
                     const std::array<LeanState, state_count>& stored, const Slice& slice) {
    const std::int64_t n = set_.values(i), first = row * n;
    T* const p = set_[i].parameter.value.template mutable_data_ptr<T>() + first;
    const T* const g = gradient.template const_data_ptr<T>() + first;
    std::array<std::array<T, lean_block>, state_count> values;
    std::array<T*, state_count> states{};
    for (std::size_t s = 0; s < state_count; ++s)
      if (places_[s] >= 0) states[s] = values[s].data();
    for (std::int64_t block = 0; block * lean_block < n; ++block) {
      const std::int64_t at = block * lean_block;
      for (std::size_t s = 0; s < state_count; ++s)
        if (states[s]) read_block(stored[s], block, states[s]);
      update(p + at, g + at, states.data(), std::min(lean_block, n - at), slice);
      for (std::size_t s = 0; s < state_count; ++s)
        if (states[s]) write_block(stored[s], block, states[s]);
    }
  }

  // Another device: operators.
  void update_whole(std::size_t i, std::int64_t row, const at::Tensor& gradient, const StepNumbers& now) {
    OptimizerSlot& slot = set_[i];
    const std::int64_t member = set_.members() ? row : -1;
    std::array<at::Tensor, std::max<std::size_t>(state_count, 1)> states;
    for (std::size_t s = 0; s < state_count; ++s) {
      if (places_[s] >= 0) states[s] = OptimizerSlot::slice(slot.state[static_cast<std::size_t>(places_[s])], member);
    }
    update(OptimizerSlot::slice(slot.parameter.value, member), OptimizerSlot::slice(gradient, member), states,
           numbers_of(row, i, now));
  }

  std::vector<Rule> rules_;  // [row, parameter]
  std::array<int, state_count> places_;
  std::vector<StateFormat> formats_;  // by parameter
};

}  // namespace trainlab
