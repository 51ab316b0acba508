#include "kernels.h"

#include <cmath>

namespace trainlab {
namespace {

// Compiled once for each instruction set and chosen when the program starts.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__)
#define TRAINLAB_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TRAINLAB_CLONES
#endif
#define TRAINLAB_INLINE inline __attribute__((always_inline))

template <class T>
TRAINLAB_INLINE T sign_of(T x) {
  return T(x > 0) - T(x < 0);
}

template <class T>
TRAINLAB_INLINE void apply(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                           const SgdSlice& numbers) {
  const T rate = T(numbers.rate), decay = T(numbers.decay), keep = T(numbers.keep), take = T(numbers.take);
  const T look = T(numbers.look), use = T(numbers.use);
  T* __restrict velocity = state[0];
  if (!numbers.with_velocity) {
    for (std::int64_t i = 0; i < n; ++i) p[i] -= rate * (g[i] + decay * p[i]);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const T gradient = g[i] + decay * p[i];
    velocity[i] = keep * velocity[i] + take * gradient;
    p[i] -= rate * (look * gradient + use * velocity[i]);
  }
}

// The running means that all of Adam's family keep.
template <class T>
struct Moments {
  T move1, beta2, take2;

  template <class Slice>
  TRAINLAB_INLINE explicit Moments(const Slice& numbers)
      : move1(T(1 - numbers.beta1)), beta2(T(numbers.beta2)), take2(T(1 - numbers.beta2)) {}
  TRAINLAB_INLINE void take_in(T gradient, T& m, T& v) const {
    m += move1 * (gradient - m);
    v = beta2 * v + take2 * gradient * gradient;
  }
};

template <class T>
TRAINLAB_INLINE void apply(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                           const AdamSlice& numbers) {
  const Moments<T> moments(numbers);
  const T shrink = T(numbers.shrink), decay = T(numbers.decay), eps = T(numbers.eps), size = T(numbers.size);
  const T scale = T(numbers.scale);
  T* __restrict m = state[0], * __restrict v = state[1], * __restrict peak = state[2];
  if (!numbers.with_peak) {
    for (std::int64_t i = 0; i < n; ++i) {
      const T before = shrink * p[i];
      moments.take_in(g[i] + decay * p[i], m[i], v[i]);
      p[i] = before - size * m[i] / (std::sqrt(v[i]) * scale + eps);
    }
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const T before = shrink * p[i];
    moments.take_in(g[i] + decay * p[i], m[i], v[i]);
    peak[i] = peak[i] > v[i] ? peak[i] : v[i];
    p[i] = before - size * m[i] / (std::sqrt(peak[i]) * scale + eps);
  }
}

template <class T>
TRAINLAB_INLINE void apply(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                           const AdamaxSlice& numbers) {
  const T decay = T(numbers.decay), move1 = T(1 - numbers.beta1), beta2 = T(numbers.beta2), eps = T(numbers.eps);
  const T size = T(numbers.size);
  T* __restrict m = state[0], * __restrict u = state[1];
  for (std::int64_t i = 0; i < n; ++i) {
    const T gradient = g[i] + decay * p[i];
    m[i] += move1 * (gradient - m[i]);
    const T kept = beta2 * u[i], now = std::fabs(gradient) + eps;
    u[i] = kept > now ? kept : now;
    p[i] -= size * m[i] / u[i];
  }
}

template <class T>
TRAINLAB_INLINE void apply(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                           const NAdamSlice& numbers) {
  const Moments<T> moments(numbers);
  const T shrink = T(numbers.shrink), decay = T(numbers.decay), eps = T(numbers.eps), scale = T(numbers.scale);
  const T of_gradient = T(numbers.of_gradient), of_average = T(numbers.of_average);
  T* __restrict m = state[0], * __restrict v = state[1];
  for (std::int64_t i = 0; i < n; ++i) {
    const T before = shrink * p[i], gradient = g[i] + decay * p[i];
    moments.take_in(gradient, m[i], v[i]);
    p[i] = before - (of_gradient * gradient + of_average * m[i]) / (std::sqrt(v[i] * scale) + eps);
  }
}

template <class T>
TRAINLAB_INLINE void apply(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                           const RAdamSlice& numbers) {
  const Moments<T> moments(numbers);
  const T shrink = T(numbers.shrink), decay = T(numbers.decay), eps = T(numbers.eps), size = T(numbers.size);
  T* __restrict m = state[0], * __restrict v = state[1];
  const T root = numbers.adapts ? T(1) : T(0), offset = numbers.adapts ? eps : T(1);
  for (std::int64_t i = 0; i < n; ++i) {
    const T before = shrink * p[i];
    moments.take_in(g[i] + decay * p[i], m[i], v[i]);
    p[i] = before - size * m[i] / (root * std::sqrt(v[i]) + offset);
  }
}

template <class T>
TRAINLAB_INLINE void apply(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                           const AdagradSlice& numbers) {
  const T rate = T(numbers.rate), decay = T(numbers.decay), eps = T(numbers.eps), initial = T(numbers.initial);
  const bool first = numbers.first;
  T* __restrict sum = state[0];
  for (std::int64_t i = 0; i < n; ++i) {
    const T gradient = g[i] + decay * p[i];
    sum[i] = (first ? initial : sum[i]) + gradient * gradient;
    p[i] -= rate * gradient / (std::sqrt(sum[i]) + eps);
  }
}

template <class T>
TRAINLAB_INLINE void apply(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                           const AdadeltaSlice& numbers) {
  const T rate = T(numbers.rate), decay = T(numbers.decay), rho = T(numbers.rho), take = T(1 - numbers.rho);
  const T eps = T(numbers.eps);
  T* __restrict v = state[0], * __restrict a = state[1];
  for (std::int64_t i = 0; i < n; ++i) {
    const T gradient = g[i] + decay * p[i];
    v[i] = rho * v[i] + take * gradient * gradient;
    const T change = std::sqrt(a[i] + eps) / std::sqrt(v[i] + eps) * gradient;
    a[i] = rho * a[i] + take * change * change;
    p[i] -= rate * change;
  }
}

template <bool centered, bool with_momentum, class T>
TRAINLAB_INLINE void rmsprop(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                             const RmspropSlice& numbers) {
  const T rate = T(numbers.rate), decay = T(numbers.decay), alpha = T(numbers.alpha), take = T(1 - numbers.alpha);
  const T eps = T(numbers.eps), momentum = T(numbers.momentum);
  T* __restrict v = state[0], * __restrict velocity = state[1], * __restrict mean = state[2];
  for (std::int64_t i = 0; i < n; ++i) {
    const T gradient = g[i] + decay * p[i];
    v[i] = alpha * v[i] + take * gradient * gradient;
    T spread = v[i];
    if constexpr (centered) {
      mean[i] += take * (gradient - mean[i]);
      spread -= mean[i] * mean[i];
    }
    T direction = gradient / (std::sqrt(spread) + eps);
    if constexpr (with_momentum) direction = velocity[i] = momentum * velocity[i] + direction;
    p[i] -= rate * direction;
  }
}

template <class T>
TRAINLAB_INLINE void apply(T* p, const T* g, T* const* state, std::int64_t n, const RmspropSlice& numbers) {
  const bool with_momentum = numbers.with_velocity;
  if (numbers.centered) {
    with_momentum ? rmsprop<true, true>(p, g, state, n, numbers) : rmsprop<true, false>(p, g, state, n, numbers);
  } else {
    with_momentum ? rmsprop<false, true>(p, g, state, n, numbers) : rmsprop<false, false>(p, g, state, n, numbers);
  }
}

template <class T>
TRAINLAB_INLINE void apply(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                           const RpropSlice& numbers) {
  const T shrink = T(numbers.shrink), grow = T(numbers.grow), initial = T(numbers.initial);
  const T smallest = T(numbers.smallest), largest = T(numbers.largest);
  const bool first = numbers.first;
  T* __restrict before = state[0], * __restrict size = state[1];
  for (std::int64_t i = 0; i < n; ++i) {
    const T product = g[i] * before[i];
    const T gradient = product < 0 ? T(0) : g[i];
    T now = (first ? initial : size[i]) * (product > 0 ? grow : product < 0 ? shrink : T(1));
    now = now < smallest ? smallest : now;
    now = now > largest ? largest : now;
    size[i] = now;
    p[i] -= sign_of(gradient) * now;
    before[i] = gradient;
  }
}

template <class T>
TRAINLAB_INLINE void apply(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                           const AsgdSlice& numbers) {
  const T decay = T(numbers.decay), shrink = T(numbers.shrink), eta = T(numbers.eta), take = T(numbers.take);
  T* __restrict average = state[0];
  const bool copies = numbers.take == 1;
  for (std::int64_t i = 0; i < n; ++i) {
    const T gradient = g[i] + decay * p[i];
    p[i] = p[i] * shrink - eta * gradient;
    average[i] = copies ? p[i] : average[i] + (p[i] - average[i]) * take;
  }
}

template <class T>
TRAINLAB_INLINE void apply(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                           const LionSlice& numbers) {
  const T shrink = T(numbers.shrink), rate = T(numbers.rate), beta1 = T(numbers.beta1), take1 = T(1 - numbers.beta1);
  const T beta2 = T(numbers.beta2), take2 = T(1 - numbers.beta2);
  T* __restrict m = state[0];
  for (std::int64_t i = 0; i < n; ++i) {
    p[i] = shrink * p[i] - rate * sign_of(beta1 * m[i] + take1 * g[i]);
    m[i] = beta2 * m[i] + take2 * g[i];
  }
}

constexpr std::int64_t lanes = 16;  // independent sums, so that the order is fixed and the loop still vectorises

template <class T>
TRAINLAB_INLINE T lamb_direction(T p, T m, T v, const LambSlice& numbers) {
  return T(numbers.size) * m / (std::sqrt(v) * T(numbers.scale) + T(numbers.eps)) + T(numbers.decay) * p;
}

template <class T>
TRAINLAB_INLINE SquaredNorms moments_and_norms(const T* __restrict p, const T* __restrict g, T* __restrict m,
                                               T* __restrict v, std::int64_t n, const LambSlice& numbers) {
  const Moments<T> moments(numbers);
  double values[lanes] = {}, directions[lanes] = {};
  const auto add = [&](std::int64_t i, std::int64_t lane) {
    moments.take_in(g[i], m[i], v[i]);
    const T direction = lamb_direction(p[i], m[i], v[i], numbers);
    values[lane] += double(p[i]) * double(p[i]);
    directions[lane] += double(direction) * double(direction);
  };
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (std::int64_t lane = 0; lane < lanes; ++lane) add(i + lane, lane);
  for (; i < n; ++i) add(i, 0);
  SquaredNorms sums;
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    sums.values += values[lane];
    sums.direction += directions[lane];
  }
  return sums;
}

template <class T>
TRAINLAB_INLINE void lamb_move(T* __restrict p, const T* __restrict m, const T* __restrict v, std::int64_t n,
                               const LambSlice& numbers, double rate) {
  const T by = T(rate);
  for (std::int64_t i = 0; i < n; ++i) p[i] -= by * lamb_direction(p[i], m[i], v[i], numbers);
}

template <class T>
TRAINLAB_INLINE double squares(const T* x, std::int64_t n) {
  double sums[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (std::int64_t lane = 0; lane < lanes; ++lane) sums[lane] += double(x[i + lane]) * double(x[i + lane]);
  double total = 0;
  for (; i < n; ++i) total += double(x[i]) * double(x[i]);
  for (const double sum : sums) total += sum;
  return total;
}

}  // namespace

#define TRAINLAB_UPDATE(Slice)                                                                                       \
  TRAINLAB_CLONES void update(float* p, const float* g, float* const* state, std::int64_t n, const Slice& numbers) { \
    apply(p, g, state, n, numbers);                                                                                  \
  }                                                                                                                  \
  TRAINLAB_CLONES void update(double* p, const double* g, double* const* state, std::int64_t n,                      \
                              const Slice& numbers) {                                                                \
    apply(p, g, state, n, numbers);                                                                                  \
  }
TRAINLAB_UPDATE(SgdSlice)
TRAINLAB_UPDATE(AdamSlice)
TRAINLAB_UPDATE(AdamaxSlice)
TRAINLAB_UPDATE(NAdamSlice)
TRAINLAB_UPDATE(RAdamSlice)
TRAINLAB_UPDATE(AdagradSlice)
TRAINLAB_UPDATE(AdadeltaSlice)
TRAINLAB_UPDATE(RmspropSlice)
TRAINLAB_UPDATE(RpropSlice)
TRAINLAB_UPDATE(AsgdSlice)
TRAINLAB_UPDATE(LionSlice)

#define TRAINLAB_FOR_TYPES(T)                                                                                    \
  TRAINLAB_CLONES SquaredNorms lamb_moments(const T* p, const T* g, T* m, T* v, std::int64_t n,                  \
                                            const LambSlice& numbers) {                                          \
    return moments_and_norms(p, g, m, v, n, numbers);                                                            \
  }                                                                                                              \
  TRAINLAB_CLONES void lamb_apply(T* p, const T* m, const T* v, std::int64_t n, const LambSlice& numbers,        \
                                  double rate) {                                                                 \
    lamb_move(p, m, v, n, numbers, rate);                                                                        \
  }                                                                                                              \
  TRAINLAB_CLONES double sum_of_squares(const T* x, std::int64_t n) { return squares(x, n); }                    \
  TRAINLAB_CLONES void scale(T* x, std::int64_t n, double factor) {                                              \
    const T by = T(factor);                                                                                      \
    for (std::int64_t i = 0; i < n; ++i) x[i] *= by;                                                             \
  }                                                                                                              \
  TRAINLAB_CLONES void limit(T* x, std::int64_t n, double bound) {                                               \
    const T top = T(bound);                                                                                      \
    for (std::int64_t i = 0; i < n; ++i) x[i] = x[i] > top ? top : x[i] < -top ? -top : x[i];                    \
  }                                                                                                              \
  TRAINLAB_CLONES void add_scaled(T* __restrict y, const T* __restrict x, std::int64_t n, double factor) {       \
    const T by = T(factor);                                                                                      \
    for (std::int64_t i = 0; i < n; ++i) y[i] += by * x[i];                                                      \
  }                                                                                                              \
  TRAINLAB_CLONES void move_towards(T* __restrict average, const T* __restrict x, std::int64_t n, double take) { \
    const T by = T(take);                                                                                        \
    for (std::int64_t i = 0; i < n; ++i) average[i] += by * (x[i] - average[i]);                                 \
  }
TRAINLAB_FOR_TYPES(float)
TRAINLAB_FOR_TYPES(double)

}  // namespace trainlab
