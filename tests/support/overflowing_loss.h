// A loss for fits in float16 that overflows in chosen steps.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "data/batch_object.h"
#include "objects/run_handle.h"
#include "support/fit_support.h"
#include "tensor/tensor_object.h"

namespace trainlab::test {

using Arguments = std::span<const Argument>;
using Results = std::vector<Argument>;

template <class T>
T& object_at(Arguments arguments, std::size_t i) {
  return dynamic_cast<T&>(*std::get<std::shared_ptr<Object>>(arguments[i]));
}

// A cross entropy that is `times` times as large in these training steps. Gradients of 1e9 times the loss, multiplied
// by a scale of 65536, are not finite in float16.
inline std::shared_ptr<Callable> overflowing(std::set<std::int64_t> steps, double times = 1e9) {
  return native([steps = std::move(steps), times](Arguments arguments) -> Results {
    const at::Tensor& out = object_at<TensorObject>(arguments, 0).tensor;
    const at::Tensor y = object_at<BatchObject>(arguments, 1).columns.at("y");
    const at::Tensor loss = out.log_softmax(-1).gather(1, y.unsqueeze(1)).neg().mean();
    const bool overflows = out.requires_grad() && steps.contains(object_at<RunHandle>(arguments, 2).step());
    return {std::make_shared<TensorObject>(overflows ? loss.mul(times) : loss)};
  });
}

// The usual fit in float16, whose loss is function 0.
inline std::string with_own_loss(const std::string& more) {
  std::string json = digits_fit(R"(, "precision": "float16")" + more);
  const std::string loss = R"("loss": "cross_entropy", "metrics": ["accuracy"])";
  return json.replace(json.find(loss), loss.size(), R"("loss": {"@": "function", "index": 0})");
}

}  // namespace trainlab::test
