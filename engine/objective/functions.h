// Helpers for losses and metrics that a recipe wrote: the batch as their function sees it, and its results. Private to
// the module.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/callable.h"
#include "objective/loss.h"

namespace trainlab {

class BatchFunction {
 public:
  // `role` is for messages and keys: "loss", "metric".
  BatchFunction(std::shared_ptr<Callable> function, const Head& head, std::string role);

  // Calls the function with `before`, `out` (nil if undefined), the batch, and the run if there is one; re-keyed for
  // this batch. Error{recipe} with a member axis.
  std::vector<Argument> operator()(const at::Tensor& out, const BatchView& batch,
                                   std::vector<Argument> before = {}) const;

  // An Error{recipe} at the line of the function.
  Error error(std::string message) const;
  const std::string& role() const { return role_; }
  // A result as a tensor of one value, 0-dim float32 or float64; undefined for a number.
  at::Tensor scalar(const Argument& result, const std::string& what) const;

 private:
  std::shared_ptr<Callable> function_;
  std::vector<std::string> columns_;
  std::string role_;
};

}  // namespace trainlab
