#include "operator_dropout.h"

#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <map>

#include "core/error.h"
#include "tensor/device.h"

namespace trainlab {

namespace {

struct Arguments {
  at::Tensor x;
  double p;
  bool train;

  explicit Arguments(torch::jit::Stack& stack) {
    x = stack[0].toTensor();
    p = stack[1].toDouble();
    train = stack[2].isNone() || stack[2].toBool();
    stack.clear();
    if (!(p >= 0 && p <= 1))
      throw recipe_error("argument 2 (p): expected a probability in [0, 1], found " + std::to_string(p));
  }
  bool drops() const { return train && p > 0 && x.numel() > 0; }
};

// 1 where an element is kept. `features`: whole channels, x is [N, C, …].
at::Tensor kept(const at::Tensor& x, double p, Key key, bool features) {
  std::vector<std::int64_t> shape = x.sizes().vec();
  if (features) {
    if (shape.size() < 2) throw recipe_error("feature dropout: expected a tensor with at least 2 dimensions");
    std::fill(shape.begin() + 2, shape.end(), 1);
  }
  return device_at(x.device()).bernoulli(shape, x.scalar_type(), 1 - p, key);
}

template <bool features, bool in_place>
void dropout(torch::jit::Stack& stack, Key key) {
  const Arguments a(stack);
  if (!a.drops()) {
    stack.emplace_back(a.x);
    return;
  }
  const at::Tensor mask = a.p == 1 ? kept(a.x, 1, key, features) : kept(a.x, a.p, key, features).div_(1 - a.p);
  stack.emplace_back(in_place ? at::Tensor(a.x).mul_(mask) : a.x.mul(mask));
}

// Klambauer et al. 2017, "Self-normalizing neural networks", section "alpha dropout": dropped elements take the lowest
// value of SELU, and an affine map keeps mean and variance.
template <bool features, bool in_place>
void alpha_dropout(torch::jit::Stack& stack, Key key) {
  const Arguments a(stack);
  if (!a.drops()) {
    stack.emplace_back(a.x);
    return;
  }
  constexpr double alpha = 1.7580993408473766;
  const double scale = a.p == 1 ? 0 : 1 / std::sqrt((1 - a.p) * (1 + a.p * alpha * alpha));
  const at::Tensor mask = kept(a.x, a.p, key, features);
  const at::Tensor shift = mask.sub(1).mul_(alpha * scale).add_(alpha * scale * a.p);
  stack.emplace_back(in_place ? at::Tensor(a.x).mul_(mask.mul(scale)).add_(shift)
                              : a.x.mul(mask.mul(scale)).add(shift));
}

void native_dropout(torch::jit::Stack& stack, Key key) {
  const Arguments a(stack);
  if (!a.drops()) {
    stack.emplace_back(a.x.clone());
    stack.emplace_back(at::ones_like(a.x, at::kBool));
    return;
  }
  const at::Tensor mask = kept(a.x, a.p, key, false);
  stack.emplace_back(a.p == 1 ? at::zeros_like(a.x) : a.x.mul(mask.div(1 - a.p)));
  stack.emplace_back(mask.to(at::kBool));
}

}  // namespace

KeyedDropout keyed_dropout(std::string_view name) {
  static const std::map<std::string_view, KeyedDropout> all{
      {"dropout", dropout<false, false>},
      {"dropout_", dropout<false, true>},
      {"feature_dropout", dropout<true, false>},
      {"feature_dropout_", dropout<true, true>},
      {"alpha_dropout", alpha_dropout<false, false>},
      {"alpha_dropout_", alpha_dropout<false, true>},
      {"feature_alpha_dropout", alpha_dropout<true, false>},
      {"feature_alpha_dropout_", alpha_dropout<true, true>},
      {"native_dropout", native_dropout},
  };
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace trainlab
