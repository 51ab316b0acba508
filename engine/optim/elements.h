// The rules of the elementwise optimizers, each written once for a single element.
//
// An element's rule is made from its slice's numbers (kernels.h) and called with the parameter p, the gradient g and
// the states. S is the type of the numbers and V that of the values: for loops over host memory both are float or
// double; for whole tensors on any device (whole.h) S is double and V stands for a tensor, so that a rule must not ask
// for single values: it calls root(), magnitude(), sign_of(), larger(), limited(), by_sign() and zero_where_negative()
// instead. A rule must not change a local variable after its first value.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels.h"

namespace trainlab {

#define TRAINLAB_INLINE inline __attribute__((always_inline))

// The number of bits of bfloat16, and the bits of the nearest one: of two equally near ones the one whose last bit is
// 0.
TRAINLAB_INLINE float wide(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t(bits) << 16); }
TRAINLAB_INLINE std::uint16_t nearest_bfloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  return static_cast<std::uint16_t>(x == x ? rounded : 0x7fc0U);
}

TRAINLAB_INLINE float root(float x) { return std::sqrt(x); }
TRAINLAB_INLINE double root(double x) { return std::sqrt(x); }
TRAINLAB_INLINE float magnitude(float x) { return std::fabs(x); }
TRAINLAB_INLINE double magnitude(double x) { return std::fabs(x); }
template <class T>
TRAINLAB_INLINE T sign_of(T x) {
  return T(x > 0) - T(x < 0);
}
// The larger of two; b if they cannot be compared.
template <class T>
TRAINLAB_INLINE T larger(T a, T b) {
  return a > b ? a : b;
}
template <class T>
TRAINLAB_INLINE T limited(T x, T low, T high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}
// One of three numbers, by the sign of x.
template <class T>
TRAINLAB_INLINE T by_sign(T x, T negative, T zero, T positive) {
  return x > 0 ? positive : x < 0 ? negative : zero;
}
template <class T>
TRAINLAB_INLINE T zero_where_negative(T x, T otherwise) {
  return x < 0 ? T(0) : otherwise;
}

template <class S>
struct SgdElement {
  const S rate, decay, keep, take, look, use;
  TRAINLAB_INLINE explicit SgdElement(const SgdSlice& n)
      : rate(S(n.rate)), decay(S(n.decay)), keep(S(n.keep)), take(S(n.take)), look(S(n.look)), use(S(n.use)) {}

  template <class V>
  TRAINLAB_INLINE void plain(V& p, const V& g) const {
    p -= rate * (g + decay * p);
  }
  template <class V>
  TRAINLAB_INLINE void with_velocity(V& p, const V& g, V& velocity) const {
    const V gradient = g + decay * p;
    velocity = keep * velocity + take * gradient;
    p -= rate * (look * gradient + use * velocity);
  }
};

// The running means that all of Adam's family keep.
template <class S>
struct Moments {
  const S move1, beta2, take2;

  template <class Slice>
  TRAINLAB_INLINE explicit Moments(const Slice& n) : move1(S(1 - n.beta1)), beta2(S(n.beta2)), take2(S(1 - n.beta2)) {}
  template <class V>
  TRAINLAB_INLINE void take_in(const V& gradient, V& m, V& v) const {
    m += move1 * (gradient - m);
    v = beta2 * v + take2 * gradient * gradient;
  }
};

template <class S>
struct AdamElement {
  const Moments<S> moments;
  const S shrink, decay, eps, size, scale;
  TRAINLAB_INLINE explicit AdamElement(const AdamSlice& n)
      : moments(n), shrink(S(n.shrink)), decay(S(n.decay)), eps(S(n.eps)), size(S(n.size)), scale(S(n.scale)) {}

  template <class V>
  TRAINLAB_INLINE void plain(V& p, const V& g, V& m, V& v) const {
    const V before = shrink * p;
    moments.take_in(V(g + decay * p), m, v);
    p = before - size * m / (root(v) * scale + eps);
  }
  template <class V>
  TRAINLAB_INLINE void with_peak(V& p, const V& g, V& m, V& v, V& peak) const {
    const V before = shrink * p;
    moments.take_in(V(g + decay * p), m, v);
    peak = larger(peak, v);
    p = before - size * m / (root(peak) * scale + eps);
  }
};

template <class S>
struct AdamaxElement {
  const S decay, move1, beta2, eps, size;
  TRAINLAB_INLINE explicit AdamaxElement(const AdamaxSlice& n)
      : decay(S(n.decay)), move1(S(1 - n.beta1)), beta2(S(n.beta2)), eps(S(n.eps)), size(S(n.size)) {}

  template <class V>
  TRAINLAB_INLINE void operator()(V& p, const V& g, V& m, V& u) const {
    const V gradient = g + decay * p;
    m += move1 * (gradient - m);
    const V kept = beta2 * u, now = magnitude(gradient) + eps;
    u = larger(kept, now);
    p -= size * m / u;
  }
};

template <class S>
struct NAdamElement {
  const Moments<S> moments;
  const S shrink, decay, eps, scale, of_gradient, of_average;
  TRAINLAB_INLINE explicit NAdamElement(const NAdamSlice& n)
      : moments(n),
        shrink(S(n.shrink)),
        decay(S(n.decay)),
        eps(S(n.eps)),
        scale(S(n.scale)),
        of_gradient(S(n.of_gradient)),
        of_average(S(n.of_average)) {}

  template <class V>
  TRAINLAB_INLINE void operator()(V& p, const V& g, V& m, V& v) const {
    const V before = shrink * p, gradient = g + decay * p;
    moments.take_in(gradient, m, v);
    p = before - (of_gradient * gradient + of_average * m) / (root(V(v * scale)) + eps);
  }
};

template <class S>
struct RAdamElement {
  const Moments<S> moments;
  const S shrink, decay, size, root_share, offset;
  TRAINLAB_INLINE explicit RAdamElement(const RAdamSlice& n)
      : moments(n),
        shrink(S(n.shrink)),
        decay(S(n.decay)),
        size(S(n.size)),
        root_share(n.adapts ? S(1) : S(0)),
        offset(n.adapts ? S(n.eps) : S(1)) {}

  template <class V>
  TRAINLAB_INLINE void operator()(V& p, const V& g, V& m, V& v) const {
    const V before = shrink * p;
    moments.take_in(V(g + decay * p), m, v);
    p = before - size * m / (root_share * root(v) + offset);
  }
};

template <class S>
struct AdagradElement {
  const S rate, decay, eps, initial;
  TRAINLAB_INLINE explicit AdagradElement(const AdagradSlice& n)
      : rate(S(n.rate)), decay(S(n.decay)), eps(S(n.eps)), initial(S(n.initial)) {}

  template <class V>
  TRAINLAB_INLINE void operator()(V& p, const V& g, V& sum, bool first) const {
    const V gradient = g + decay * p;
    sum = first ? V(initial + gradient * gradient) : V(sum + gradient * gradient);
    p -= rate * gradient / (root(sum) + eps);
  }
};

template <class S>
struct AdadeltaElement {
  const S rate, decay, rho, take, eps;
  TRAINLAB_INLINE explicit AdadeltaElement(const AdadeltaSlice& n)
      : rate(S(n.rate)), decay(S(n.decay)), rho(S(n.rho)), take(S(1 - n.rho)), eps(S(n.eps)) {}

  template <class V>
  TRAINLAB_INLINE void operator()(V& p, const V& g, V& v, V& a) const {
    const V gradient = g + decay * p;
    v = rho * v + take * gradient * gradient;
    const V change = root(V(a + eps)) / root(V(v + eps)) * gradient;
    a = rho * a + take * change * change;
    p -= rate * change;
  }
};

template <class S>
struct RmspropElement {
  const S rate, decay, alpha, take, eps, momentum;
  TRAINLAB_INLINE explicit RmspropElement(const RmspropSlice& n)
      : rate(S(n.rate)),
        decay(S(n.decay)),
        alpha(S(n.alpha)),
        take(S(1 - n.alpha)),
        eps(S(n.eps)),
        momentum(S(n.momentum)) {}

  // A state that an update does not use may be any value.
  template <bool centered, bool with_velocity, class V>
  TRAINLAB_INLINE void step(V& p, const V& g, V& v, V& velocity, V& mean) const {
    const V gradient = g + decay * p;
    v = alpha * v + take * gradient * gradient;
    if constexpr (centered) mean += take * (gradient - mean);
    const V spread = centered ? V(v - mean * mean) : v;
    const V direction = gradient / (root(spread) + eps);
    if constexpr (with_velocity) {
      velocity = momentum * velocity + direction;
      p -= rate * velocity;
    } else {
      p -= rate * direction;
    }
  }
};

template <class S>
struct RpropElement {
  const S shrink, grow, smallest, largest, initial;
  TRAINLAB_INLINE explicit RpropElement(const RpropSlice& n)
      : shrink(S(n.shrink)), grow(S(n.grow)), smallest(S(n.smallest)), largest(S(n.largest)), initial(S(n.initial)) {}

  template <class V>
  TRAINLAB_INLINE void operator()(V& p, const V& g, V& before, V& size, bool first) const {
    const V product = g * before;
    const V gradient = zero_where_negative(product, g), factor = by_sign(product, shrink, S(1), grow);
    size = limited(first ? V(initial * factor) : V(size * factor), smallest, largest);
    p -= sign_of(gradient) * size;
    before = gradient;
  }
};

template <class S>
struct AsgdElement {
  const S decay, shrink, eta, take;
  TRAINLAB_INLINE explicit AsgdElement(const AsgdSlice& n)
      : decay(S(n.decay)), shrink(S(n.shrink)), eta(S(n.eta)), take(S(n.take)) {}

  template <class V>
  TRAINLAB_INLINE void operator()(V& p, const V& g, V& average, bool copies) const {
    const V gradient = g + decay * p;
    p = p * shrink - eta * gradient;
    average = copies ? p : V(average + (p - average) * take);
  }
};

template <class S>
struct LionElement {
  const S shrink, rate, beta1, take1, beta2, take2;
  TRAINLAB_INLINE explicit LionElement(const LionSlice& n)
      : shrink(S(n.shrink)),
        rate(S(n.rate)),
        beta1(S(n.beta1)),
        take1(S(1 - n.beta1)),
        beta2(S(n.beta2)),
        take2(S(1 - n.beta2)) {}

  template <class V>
  TRAINLAB_INLINE void operator()(V& p, const V& g, V& m) const {
    p = shrink * p - rate * sign_of(V(beta1 * m + take1 * g));
    m = beta2 * m + take2 * g;
  }
};

template <class S>
struct ScheduleFreeElement {
  const S rate, decay, take, back;
  TRAINLAB_INLINE explicit ScheduleFreeElement(const ScheduleFreeSlice& n)
      : rate(S(n.rate)), decay(S(n.decay)), take(S(n.take)), back(S(n.back)) {}

  template <class V>
  TRAINLAB_INLINE void operator()(V& p, const V& direction, V& z, bool first) const {
    const V u = direction + decay * p, from = first ? p : z;
    const V moved = p + take * (from - p) + back * u;
    z = from - rate * u;
    p = moved;
  }
};

template <class S>
struct ScheduleFreeAdamElement {
  const ScheduleFreeElement<S> move;
  const S beta2, take2, eps, scale;
  TRAINLAB_INLINE explicit ScheduleFreeAdamElement(const ScheduleFreeAdamSlice& n)
      : move(n.move), beta2(S(n.beta2)), take2(S(1 - n.beta2)), eps(S(n.eps)), scale(S(n.scale)) {}

  template <class V>
  TRAINLAB_INLINE void operator()(V& p, const V& g, V& z, V& v, bool first) const {
    v = beta2 * v + take2 * g * g;
    move(p, V(g / (root(v) * scale + eps)), z, first);
  }
};

template <class S>
struct LambElement {
  const Moments<S> moments;
  const S size, scale, eps, decay;
  TRAINLAB_INLINE explicit LambElement(const LambSlice& n)
      : moments(n), size(S(n.size)), scale(S(n.scale)), eps(S(n.eps)), decay(S(n.decay)) {}

  template <class V>
  TRAINLAB_INLINE V direction(const V& p, const V& m, const V& v) const {
    return size * m / (root(v) * scale + eps) + decay * p;
  }
};

}  // namespace trainlab
