// Functions with a backward pass of their own, as nodes of LibTorch's graph. torch::autograd::Function serves the same
// end and takes several microseconds longer a call, which a step of a small model feels.
#pragma once

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <memory>
#include <utility>

namespace trainlab {

// Whether a function of x is to be differentiated.
inline bool is_differentiated(const at::Tensor& x) { return at::GradMode::is_enabled() && x.requires_grad(); }

// Makes the differentiable tensor x the only input of a new N(arguments…), a torch::autograd::Node, and `result`, which
// was computed without gradients, its only output.
template <class N, class... Arguments>
void add_node(const at::Tensor& result, const at::Tensor& x, Arguments&&... arguments) {
  const std::shared_ptr<N> node(new N(std::forward<Arguments>(arguments)...), torch::autograd::deleteNode);
  node->set_next_edges(torch::autograd::collect_next_edges(x));
  torch::autograd::set_history(result, node);
}

}  // namespace trainlab
