// Parameters and their state tensors for all optimizers, as wholes and as slices of single members.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "optim/optimizer.h"

namespace trainlab {

// One parameter with its state.
struct OptimizerSlot {
  OptimizedParameter parameter;
  std::vector<at::Tensor> state;      // in the order in which the states were added
  std::vector<std::string> suffixes;  // of the names of the states

  // The whole tensor, or the slice of `member` where there is a member axis (member ≥ 0).
  static at::Tensor slice(const at::Tensor& tensor, std::int64_t member);
};

class ParameterSet {
 public:
  // Raises Error{recipe} for parameters that are not contiguous float32 or float64 tensors of one device, or in
  // bfloat16 with a rounding, and std::logic_error for one without the member axis. members = 0: no member axis.
  ParameterSet(std::vector<OptimizedParameter> parameters, std::int64_t members);

  // Adds a state tensor of zeros, shaped like the parameter, to every parameter; `suffix` names it ("exp_avg").
  void add_state(const std::string& suffix);
  // Adds such a tensor of another shape, which does not count the member axis, and of another type to parameter i.
  void add_state(std::size_t i, std::string suffix, std::vector<std::int64_t> shape, at::ScalarType type);
  // Adds the counts of steps: float32 [parameters] or [members, parameters], on `device`.
  void add_steps(at::Device device);
  // Adds one number for each parameter and row, 0 at first: float64 [parameters] or [members, parameters] on the CPU.
  void add_scalars(std::string name);

  std::size_t size() const { return slots_.size(); }
  OptimizerSlot& operator[](std::size_t i) { return slots_[i]; }
  const OptimizerSlot& operator[](std::size_t i) const { return slots_[i]; }
  // The number of values of parameter i in a row.
  std::int64_t values(std::size_t i) const { return slots_[i].parameter.value.numel() / rows(); }
  std::int64_t members() const { return members_; }
  std::int64_t rows() const { return members_ ? members_ : 1; }  // rates and step counts
  at::Device device() const { return device_; }
  bool counts_steps() const { return steps_.defined(); }
  // Number `which`, in the order in which they were added.
  double& scalar(std::int64_t row, std::size_t i, std::size_t which = 0) const {
    return scalars_[which].second.mutable_data_ptr<double>()[place(row, i)];
  }

  // The count of steps of parameter i in a row: a 0-dim view, and on the CPU its place in memory.
  const at::Tensor& step_view(std::int64_t row, std::size_t i) const { return step_views_[place(row, i)]; }
  float& step_count(std::int64_t row, std::size_t i) const { return steps_.mutable_data_ptr<float>()[place(row, i)]; }

  // Raises std::logic_error unless there is a gradient (or none) for each parameter and a rate for each row.
  void check_step(std::span<const at::Tensor> gradients, const StepInputs& inputs) const;
  // The gradient of parameter i in the form that the kernels need: contiguous, of the parameter's dtype and shape.
  at::Tensor gradient(std::span<const at::Tensor> gradients, std::size_t i) const;

  // Tells autograd that parameter i was changed; neither bare pointers nor the fused operators do.
  void changed(std::size_t i) { slots_[i].parameter.value.unsafeGetTensorImpl()->bump_version(); }

  std::vector<OptimizerTensor> state();

 private:
  std::int64_t members_;
  at::Device device_ = at::kCPU;
  std::vector<OptimizerSlot> slots_;
  at::Tensor steps_;
  std::vector<std::pair<std::string, at::Tensor>> scalars_;
  std::vector<at::Tensor> step_views_;

  std::size_t place(std::int64_t row, std::size_t i) const { return static_cast<std::size_t>(row) * slots_.size() + i; }
};

// Whether a parameter is in bfloat16 and rounded by the steps.
inline bool is_rounded(const OptimizedParameter& parameter) {
  return parameter.rounding != WeightRounding::none && parameter.value.scalar_type() == at::kBFloat16;
}
inline bool has_rounded(std::span<const OptimizedParameter> parameters) {
  return std::ranges::any_of(parameters, is_rounded);
}

// The lists of one call of a fused operator.
struct FusedLists {
  std::vector<at::Tensor> values, gradients, steps;
  std::vector<std::vector<at::Tensor>> state;  // by state name

  bool empty() const { return values.empty(); }
  void clear(std::size_t states);
  void add(ParameterSet& set, std::span<const at::Tensor> all_gradients, std::int64_t row, std::size_t i,
           bool with_steps);
};

inline bool is_active(std::span<const std::uint8_t> active, std::int64_t row) {
  return active.empty() || active[static_cast<std::size_t>(row)] != 0;
}

}  // namespace trainlab
