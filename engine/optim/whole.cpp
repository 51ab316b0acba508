#include "whole.h"

#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>

#include "elements.h"

namespace trainlab {
namespace {

// A tensor as a rule's value: assigning writes into the tensor's memory.
class Whole {
 public:
  Whole(at::Tensor tensor) : tensor_(std::move(tensor)) {}
  Whole(const Whole&) = default;
  Whole& operator=(const Whole& other) {
    tensor_.copy_(other.tensor_);
    return *this;
  }
  Whole& operator+=(const Whole& other) {
    tensor_.add_(other.tensor_);
    return *this;
  }
  Whole& operator-=(const Whole& other) {
    tensor_.sub_(other.tensor_);
    return *this;
  }
  const at::Tensor& tensor() const { return tensor_; }

 private:
  at::Tensor tensor_;
};

Whole operator+(const Whole& a, const Whole& b) { return a.tensor().add(b.tensor()); }
Whole operator+(const Whole& a, double b) { return a.tensor().add(b); }
Whole operator+(double a, const Whole& b) { return b.tensor().add(a); }
Whole operator-(const Whole& a, const Whole& b) { return a.tensor().sub(b.tensor()); }
Whole operator*(const Whole& a, const Whole& b) { return a.tensor().mul(b.tensor()); }
Whole operator*(const Whole& a, double b) { return a.tensor().mul(b); }
Whole operator*(double a, const Whole& b) { return b.tensor().mul(a); }
Whole operator/(const Whole& a, const Whole& b) { return a.tensor().div(b.tensor()); }

Whole root(const Whole& x) { return x.tensor().sqrt(); }
Whole magnitude(const Whole& x) { return x.tensor().abs(); }
Whole sign_of(const Whole& x) { return x.tensor().sign(); }
Whole larger(const Whole& a, const Whole& b) { return at::where(a.tensor().gt(b.tensor()), a.tensor(), b.tensor()); }
Whole limited(const Whole& x, double low, double high) { return x.tensor().clamp(low, high); }
Whole by_sign(const Whole& x, double negative, double zero, double positive) {
  const at::Tensor numbers = at::ones_like(x.tensor()).mul_(zero);
  return numbers.masked_fill_(x.tensor().lt(0), negative).masked_fill_(x.tensor().gt(0), positive);
}
Whole zero_where_negative(const Whole& x, const Whole& otherwise) {
  return otherwise.tensor().masked_fill(x.tensor().lt(0), 0);
}

using States = std::span<const at::Tensor>;

// A rule of two states.
template <class Element, class Slice>
void two_states(const at::Tensor& p, const at::Tensor& g, States state, const Slice& numbers) {
  Whole value = p, first = state[0], second = state[1];
  Element{numbers}(value, Whole(g), first, second);
}

}  // namespace

void update(const at::Tensor& p, const at::Tensor& g, States state, const SgdSlice& numbers) {
  const SgdElement<double> element(numbers);
  Whole value = p;
  if (!numbers.with_velocity) return element.plain(value, Whole(g));
  Whole velocity = state[0];
  element.with_velocity(value, Whole(g), velocity);
}

void update(const at::Tensor& p, const at::Tensor& g, States state, const AdamSlice& numbers) {
  const AdamElement<double> element(numbers);
  Whole value = p, m = state[0], v = state[1];
  if (!numbers.with_peak) return element.plain(value, Whole(g), m, v);
  Whole peak = state[2];
  element.with_peak(value, Whole(g), m, v, peak);
}

void update(const at::Tensor& p, const at::Tensor& g, States state, const AdamaxSlice& numbers) {
  two_states<AdamaxElement<double>>(p, g, state, numbers);
}
void update(const at::Tensor& p, const at::Tensor& g, States state, const NAdamSlice& numbers) {
  two_states<NAdamElement<double>>(p, g, state, numbers);
}
void update(const at::Tensor& p, const at::Tensor& g, States state, const RAdamSlice& numbers) {
  two_states<RAdamElement<double>>(p, g, state, numbers);
}
void update(const at::Tensor& p, const at::Tensor& g, States state, const AdadeltaSlice& numbers) {
  two_states<AdadeltaElement<double>>(p, g, state, numbers);
}

void update(const at::Tensor& p, const at::Tensor& g, States state, const AdagradSlice& numbers) {
  Whole value = p, sum = state[0];
  AdagradElement<double>{numbers}(value, Whole(g), sum, numbers.first);
}

void update(const at::Tensor& p, const at::Tensor& g, States state, const RmspropSlice& numbers) {
  const RmspropElement<double> element(numbers);
  Whole value = p, v = state[0], velocity = state[1], mean = state[2];
  const Whole gradient = g;
  if (numbers.centered && numbers.with_velocity) return element.step<true, true>(value, gradient, v, velocity, mean);
  if (numbers.centered) return element.step<true, false>(value, gradient, v, velocity, mean);
  if (numbers.with_velocity) return element.step<false, true>(value, gradient, v, velocity, mean);
  element.step<false, false>(value, gradient, v, velocity, mean);
}

void update(const at::Tensor& p, const at::Tensor& g, States state, const RpropSlice& numbers) {
  Whole value = p, before = state[0], size = state[1];
  RpropElement<double>{numbers}(value, Whole(g), before, size, numbers.first);
}

void update(const at::Tensor& p, const at::Tensor& g, States state, const AsgdSlice& numbers) {
  Whole value = p, average = state[0];
  AsgdElement<double>{numbers}(value, Whole(g), average, numbers.take == 1);
}

void update(const at::Tensor& p, const at::Tensor& g, States state, const LionSlice& numbers) {
  Whole value = p, m = state[0];
  LionElement<double>{numbers}(value, Whole(g), m);
}

void update(const at::Tensor& p, const at::Tensor& g, States state, const ScheduleFreeSlice& numbers) {
  Whole value = p, z = state[0];
  ScheduleFreeElement<double>{numbers}(value, Whole(g), z, numbers.first);
}

void update(const at::Tensor& p, const at::Tensor& g, States state, const ScheduleFreeAdamSlice& numbers) {
  Whole value = p, z = state[0], v = state[1];
  ScheduleFreeAdamElement<double>{numbers}(value, Whole(g), z, v, numbers.move.first);
}

void lamb_update(const at::Tensor& p, const at::Tensor& g, const at::Tensor& m, const at::Tensor& v,
                 const LambSlice& numbers, double rate) {
  const LambElement<double> element(numbers);
  Whole average = m, square = v;
  element.moments.take_in(Whole(g), average, square);
  const at::Tensor direction = element.direction(Whole(p), average, square).tensor();
  const at::Tensor of_values = at::linalg_vector_norm(p), of_direction = at::linalg_vector_norm(direction);
  const at::Tensor ratio = of_values.div(of_direction);
  const at::Tensor trust = at::where(of_values.gt(0).logical_and(of_direction.gt(0)), ratio, at::ones_like(ratio));
  p.sub_(direction.mul(trust.mul(rate)));
}

}  // namespace trainlab
