#include "optim/offloaded.h"

#include <algorithm>
#include <utility>

#include "tensor/file_memory.h"

namespace trainlab {
namespace {

// The state of a part. A step needs twice as much in memory, or as much as one parameter has.
constexpr std::int64_t part_bytes = std::int64_t{8} << 20;

class Offloaded final : public Optimizer {
 public:
  Offloaded(const Options& spec, std::vector<OptimizedParameter> parameters, const std::filesystem::path& folder)
      : file_(std::make_shared<ScratchFile>(folder)), states_(parameters.size()) {
    std::vector<std::string> names;
    names.reserve(parameters.size());
    for (const OptimizedParameter& one : parameters) names.push_back(one.name + ".");
    {
      const TensorsInFile guard(file_);
      inner_ = make_optimizer({&spec, 1}, std::move(parameters), 0);
    }
    all_ = inner_->state();
    for (const OptimizerTensor& one : all_) {
      write_behind(one.tensor);
      const auto found =
          std::ranges::find_if(names, [&](const std::string& name) { return one.name.starts_with(name); });
      if (found != names.end()) states_[static_cast<std::size_t>(found - names.begin())].push_back(one.tensor);
    }
    divide();
  }

  using Optimizer::step;
  void step(std::span<const at::Tensor> gradients, const StepInputs& inputs) override {
    if (!inner_->steps_by_parameter()) {
      inner_->step(gradients, inputs);
      for (const OptimizerTensor& one : all_) write_behind(one.tensor);
      return;
    }
    const auto has_gradient = [](const at::Tensor& gradient) { return gradient.defined(); };
    if (std::ranges::count_if(gradients, has_gradient) == 1) {
      // Within a backward pass, in which the parameter before comes next.
      const auto i = static_cast<std::size_t>(std::ranges::find_if(gradients, has_gradient) - gradients.begin());
      if (i > 0) each_state(i - 1, i, read_ahead);
      inner_->step(gradients, inputs);
      return each_state(i, i + 1, write_behind);
    }
    std::vector<at::Tensor> some(gradients.size());
    each_state(0, bounds_[bounds_.size() > 1 ? 1 : 0], read_ahead);
    for (std::size_t part = 0; part + 1 < bounds_.size(); ++part) {
      const std::size_t begin = bounds_[part], end = bounds_[part + 1];
      if (part + 2 < bounds_.size()) each_state(end, bounds_[part + 2], read_ahead);
      for (std::size_t i = begin; i < end; ++i) some[i] = gradients[i];
      inner_->step(some, inputs);
      for (std::size_t i = begin; i < end; ++i) some[i].reset();
      each_state(begin, end, write_behind);
    }
  }

  bool evaluates_again() const override { return inner_->evaluates_again(); }
  bool steps_by_parameter() const override { return inner_->steps_by_parameter(); }
  void averaged_weights(std::int64_t row, std::span<const at::Tensor> to) const override {
    inner_->averaged_weights(row, to);
  }

  std::vector<OptimizerTensor> state() override {
    file_->check();
    return inner_->state();
  }

 private:
  void divide() {
    std::int64_t bytes = part_bytes;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (bytes >= part_bytes) {
        bounds_.push_back(i);
        bytes = 0;
      }
      for (const at::Tensor& one : states_[i]) bytes += static_cast<std::int64_t>(one.nbytes());
    }
    bounds_.push_back(states_.size());
  }

  void each_state(std::size_t begin, std::size_t end, void (*act)(const at::Tensor&)) const {
    for (std::size_t i = begin; i < end; ++i) std::ranges::for_each(states_[i], act);
  }

  std::shared_ptr<ScratchFile> file_;
  std::unique_ptr<Optimizer> inner_;
  std::vector<OptimizerTensor> all_;
  std::vector<std::vector<at::Tensor>> states_;  // by parameter
  std::vector<std::size_t> bounds_;              // the first parameter of each part, and the number of parameters
};

}  // namespace

std::unique_ptr<Optimizer> make_offloaded_optimizer(const Options& spec, std::vector<OptimizedParameter> parameters,
                                                    const std::filesystem::path& folder) {
  return std::make_unique<Offloaded>(spec, std::move(parameters), folder);
}

}  // namespace trainlab
