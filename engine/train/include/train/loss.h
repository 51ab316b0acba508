// Losses: a scalar per member from a model's output and a batch's target.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>

#include "core/registry.h"
#include "data/dataset.h"
#include "tensor/types.h"

namespace trainlab {

// value: mean over the batch, 0-dim, or [M] with a member axis. weight: what the mean was divided by (class weights
// summed; 0-dim or [M]); undefined when it is the number of samples. Means over batches are weighted by it.
struct LossValue {
  at::Tensor value;
  at::Tensor weight;
};

class Loss {
 public:
  virtual ~Loss() = default;
  // out: [B, …] or [M, B, …]; target: [B, …] or [M, B, …] (its own shape as the data gives it); members 0: no axis.
  virtual LossValue operator()(const at::Tensor& out, const at::Tensor& target, std::int64_t members) const = 0;
};

// What a loss or metric is built for; its factory refuses outputs and targets that do not fit, naming both shapes.
struct Head {
  Shape output;        // of the model, one sample
  Shape target;        // one sample ([] for a class label)
  at::ScalarType target_type = at::kLong;
  std::int64_t classes = 0;
  std::vector<std::string> class_names;
  at::ScalarType float_type = at::kFloat;  // of the model
  at::Device device = at::kCPU;
};

using LossFactory = std::function<std::unique_ptr<Loss>(const Options&, const Head&)>;

}  // namespace trainlab
