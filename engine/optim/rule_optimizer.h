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
#include "rounded_weights.h"
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
    bool counts_steps = std::ranges::any_of(rules_, &Rule::counts_steps);
    for (std::size_t i = 0; i < set_.size(); ++i) {
      if (!is_rounded(set_[i].parameter)) continue;
      counts_steps = true;  // each step rounds with random numbers of its own
      if (set_[i].parameter.rounding == WeightRounding::compensated) add_state(i, "rest", at::kBFloat16);
    }
    if (counts_steps) set_.add_steps(steps_device);
    if constexpr (has_scalars) {
      for (const char* name : Rule::scalars) set_.add_scalars(name);
    }
  }

 protected:
  const Rule& rule(std::int64_t row, std::size_t i) const {
    return rules_[static_cast<std::size_t>(row) * set_.size() + i];
  }
  std::span<const Rule> rules() const { return rules_; }
  // The place of a state among the states of a parameter; −1 if no rule needs it.
  int state_place(std::size_t state) const { return places_[state]; }

  void step_slice(std::size_t i, std::int64_t row, const at::Tensor& gradient, const StepNumbers& now) final {
    if (gradient.is_meta()) return;  // a dry run: the CPU's loop takes no memory
    if (formats_[i] != StateFormat::full || is_rounded(set_[i].parameter)) {
      update_stored(i, row, gradient, now);
    } else if (!gradient.is_cpu()) {
      update_whole(i, row, gradient, now);
    } else if (gradient.scalar_type() == at::kFloat) {
      update_slice<float>(i, row, gradient, now);
    } else {
      update_slice<double>(i, row, gradient, now);
    }
  }

 private:
  static constexpr std::size_t state_count = std::size(Rule::states);
  static constexpr bool has_scalars = requires { Rule::scalars; };

  void choose_formats() {
    for (std::size_t i = 0; i < set_.size(); ++i) {
      formats_.push_back(state_format(options_.options(0, i), set_.values(i)));
      for (std::int64_t row = 1; row < set_.rows(); ++row)
        if (state_format(options_.options(row, i), set_.values(i)) != formats_[i])
          throw std::logic_error("optimizer: members that keep their state in different forms");
    }
  }

  // A state of the parameter's shape.
  void add_state(std::size_t i, const std::string& name, at::ScalarType type) {
    set_.add_state(i, name, set_[i].parameter.value.sizes().slice(set_.members() ? 1 : 0).vec(), type);
  }

  void add_state(std::size_t i, const std::string& name) {
    const OptimizedParameter& parameter = set_[i].parameter;
    switch (formats_[i]) {
      case StateFormat::full:
        return add_state(i, name, is_rounded(parameter) ? at::kFloat : parameter.value.scalar_type());
      case StateFormat::bfloat16: return add_state(i, name, at::kBFloat16);
      case StateFormat::codes:
        add_state(i, name, at::kByte);
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
    bool is_square = false;
    if constexpr (requires { Rule::squares; }) is_square = Rule::squares[s];
    return {.format = formats_[i],
            .is_square = is_square,
            .key = rounding_key(i, s, now.t),
            .values = OptimizerSlot::slice(set_[i].state[place], member),
            .largest = codes ? OptimizerSlot::slice(set_[i].state[place + 1], member) : at::Tensor()};
  }

  RoundedWeights rounded_weights(std::size_t i, std::int64_t row, const StepNumbers& now) const {
    const OptimizerSlot& slot = set_[i];
    const std::int64_t member = set_.members() ? row : -1;
    const bool has_rest = slot.parameter.rounding == WeightRounding::compensated;
    return {.stored = {.key = rounding_key(i, state_count, now.t),
                       .values = OptimizerSlot::slice(slot.parameter.value, member)},
            .rest = has_rest ? OptimizerSlot::slice(slot.state.back(), member) : at::Tensor()};
  }

  // States or weights that are stored in another form than that of the computation.
  void update_stored(std::size_t i, std::int64_t row, const at::Tensor& gradient, const StepNumbers& now) {
    std::array<LeanState, state_count> stored;
    for (std::size_t s = 0; s < state_count; ++s)
      if (places_[s] >= 0) stored[s] = lean_state(i, row, s, now);
    const auto slice = numbers_of(row, i, now);
    const std::int64_t member = set_.members() ? row : -1;
    if (gradient.is_cpu()) {
      const std::int64_t n = set_.values(i), first = row * n;
      if (is_rounded(set_[i].parameter)) return update_rounded(i, row, gradient, now, stored, slice);
      const auto update_all = [&]<class T>(T* p) {
        const T* const g = gradient.template const_data_ptr<T>() + first;
        each_block<T>(n, stored, [&](std::int64_t block, std::int64_t size, T* const* states) {
          update(p + block * lean_block, g + block * lean_block, states, size, slice);
        });
      };
      at::Tensor& value = set_[i].parameter.value;
      if (gradient.scalar_type() == at::kFloat) return update_all(value.template mutable_data_ptr<float>() + first);
      return update_all(value.template mutable_data_ptr<double>() + first);
    }
    std::array<at::Tensor, state_count> states;
    for (std::size_t s = 0; s < state_count; ++s)
      if (places_[s] >= 0) states[s] = read_state(stored[s], gradient.scalar_type());
    update(OptimizerSlot::slice(set_[i].parameter.value, member), OptimizerSlot::slice(gradient, member), states,
           slice);
    for (std::size_t s = 0; s < state_count; ++s)
      if (places_[s] >= 0) write_state(stored[s], states[s]);
  }

  // Weights and their gradient in bfloat16, in host memory.
  template <class Slice>
  void update_rounded(std::size_t i, std::int64_t row, const at::Tensor& gradient, const StepNumbers& now,
                      const std::array<LeanState, state_count>& stored, const Slice& slice) {
    const RoundedWeights weights = rounded_weights(i, row, now);
    const LeanState slopes = {.values = OptimizerSlot::slice(gradient, set_.members() ? row : -1)};
    std::array<float, lean_block> p, g;
    each_block<float>(set_.values(i), stored, [&](std::int64_t block, std::int64_t size, float* const* states) {
      read_block(weights, block, p.data());
      read_block(slopes, block, g.data());
      update(p.data(), g.data(), states, size, slice);
      write_block(weights, block, p.data());
    });
  }

  // Calls use(block, values in the block, states) for each block of n values, with the states as they are in host
  // memory, and stores them again.
  template <class T, class Use>
  void each_block(std::int64_t n, const std::array<LeanState, state_count>& stored, const Use& use) const {
    std::array<std::array<T, lean_block>, state_count> values;
    std::array<T*, state_count> states{};
    for (std::size_t s = 0; s < state_count; ++s)
      if (places_[s] >= 0) states[s] = values[s].data();
    for (std::int64_t block = 0; block * lean_block < n; ++block) {
      for (std::size_t s = 0; s < state_count; ++s)
        if (states[s]) read_block(stored[s], block, states[s]);
      use(block, std::min(lean_block, n - block * lean_block), states.data());
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
