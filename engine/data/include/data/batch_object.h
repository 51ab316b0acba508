// A batch as a recipe's functions see it: named tensors, the number of samples, and which samples they are.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "core/callable.h"
#include "data/loader.h"

namespace trainlab {

class BatchObject : public Object {
 public:
  std::string_view type_name() const override { return "batch"; }

  std::map<std::string, at::Tensor> columns;  // "x", "y", …: [B, …]
  at::Tensor index;                           // int64 [B] on the CPU: rows of the dataset, or undefined
  std::int64_t size = 0;
};

// Makes the object of a loader's batch of `data`, without a member axis.
std::shared_ptr<BatchObject> batch_object(const Dataset& data, Batch batch);

}  // namespace trainlab
