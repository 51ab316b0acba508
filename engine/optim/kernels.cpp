#include "kernels.h"

#include "core/clones.h"
#include "elements.h"

namespace trainlab {
namespace {

template <class T>
TRAINLAB_INLINE void apply(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                           const SgdSlice& numbers) {
  const SgdElement<T> element(numbers);
  T* __restrict velocity = state[0];
  if (!numbers.with_velocity) {
    for (std::int64_t i = 0; i < n; ++i) element.plain(p[i], g[i]);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) element.with_velocity(p[i], g[i], velocity[i]);
}

template <class T>
TRAINLAB_INLINE void apply(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                           const AdamSlice& numbers) {
  const AdamElement<T> element(numbers);
  T* __restrict m = state[0], * __restrict v = state[1], * __restrict peak = state[2];
  if (!numbers.with_peak) {
    for (std::int64_t i = 0; i < n; ++i) element.plain(p[i], g[i], m[i], v[i]);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) element.with_peak(p[i], g[i], m[i], v[i], peak[i]);
}

template <class T>
TRAINLAB_INLINE void apply(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                           const AdamaxSlice& numbers) {
  const AdamaxElement<T> element(numbers);
  T* __restrict first = state[0], * __restrict second = state[1];
  for (std::int64_t i = 0; i < n; ++i) element(p[i], g[i], first[i], second[i]);
}

template <class T>
TRAINLAB_INLINE void apply(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                           const NAdamSlice& numbers) {
  const NAdamElement<T> element(numbers);
  T* __restrict first = state[0], * __restrict second = state[1];
  for (std::int64_t i = 0; i < n; ++i) element(p[i], g[i], first[i], second[i]);
}

template <class T>
TRAINLAB_INLINE void apply(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                           const RAdamSlice& numbers) {
  const RAdamElement<T> element(numbers);
  T* __restrict first = state[0], * __restrict second = state[1];
  for (std::int64_t i = 0; i < n; ++i) element(p[i], g[i], first[i], second[i]);
}

template <class T>
TRAINLAB_INLINE void apply(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                           const AdadeltaSlice& numbers) {
  const AdadeltaElement<T> element(numbers);
  T* __restrict first = state[0], * __restrict second = state[1];
  for (std::int64_t i = 0; i < n; ++i) element(p[i], g[i], first[i], second[i]);
}

template <class T>
TRAINLAB_INLINE void apply(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                           const AdagradSlice& numbers) {
  const AdagradElement<T> element(numbers);
  const bool first = numbers.first;
  T* __restrict sum = state[0];
  for (std::int64_t i = 0; i < n; ++i) element(p[i], g[i], sum[i], first);
}

template <bool centered, bool with_velocity, class T>
TRAINLAB_INLINE void rmsprop(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                             const RmspropSlice& numbers) {
  const RmspropElement<T> element(numbers);
  T* __restrict v = state[0];
  T* __restrict velocity = state[1];
  T* __restrict mean = state[2];
  for (std::int64_t i = 0; i < n; ++i) {
    T unused = 0;
    element.template step<centered, with_velocity>(p[i], g[i], v[i], with_velocity ? velocity[i] : unused,
                                                   centered ? mean[i] : unused);
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
  const RpropElement<T> element(numbers);
  const bool first = numbers.first;
  T* __restrict before = state[0], * __restrict size = state[1];
  for (std::int64_t i = 0; i < n; ++i) element(p[i], g[i], before[i], size[i], first);
}

template <class T>
TRAINLAB_INLINE void apply(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                           const AsgdSlice& numbers) {
  const AsgdElement<T> element(numbers);
  T* __restrict average = state[0];
  const bool copies = numbers.take == 1;
  for (std::int64_t i = 0; i < n; ++i) element(p[i], g[i], average[i], copies);
}

template <class T>
TRAINLAB_INLINE void apply(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                           const LionSlice& numbers) {
  const LionElement<T> element(numbers);
  T* __restrict m = state[0];
  for (std::int64_t i = 0; i < n; ++i) element(p[i], g[i], m[i]);
}

template <class T>
TRAINLAB_INLINE void apply(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                           const ScheduleFreeSlice& numbers) {
  const ScheduleFreeElement<T> element(numbers);
  const bool first = numbers.first;
  T* __restrict z = state[0];
  for (std::int64_t i = 0; i < n; ++i) element(p[i], g[i], z[i], first);
}

template <class T>
TRAINLAB_INLINE void apply(T* __restrict p, const T* __restrict g, T* const* state, std::int64_t n,
                           const ScheduleFreeAdamSlice& numbers) {
  const ScheduleFreeAdamElement<T> element(numbers);
  const bool first = numbers.move.first;
  T* __restrict z = state[0], * __restrict v = state[1];
  for (std::int64_t i = 0; i < n; ++i) element(p[i], g[i], z[i], v[i], first);
}

constexpr std::int64_t lanes = 16;  // independent sums, so that the order is fixed and the loop still vectorises

template <class T>
TRAINLAB_INLINE SquaredNorms moments_and_norms(const T* __restrict p, const T* __restrict g, T* __restrict m,
                                               T* __restrict v, std::int64_t n, const LambSlice& numbers) {
  const LambElement<T> element(numbers);
  double values[lanes] = {}, directions[lanes] = {};
  const auto add = [&](std::int64_t i, std::int64_t lane) {
    element.moments.take_in(g[i], m[i], v[i]);
    const T direction = element.direction(p[i], m[i], v[i]);
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
  const LambElement<T> element(numbers);
  const T by = T(rate);
  for (std::int64_t i = 0; i < n; ++i) p[i] -= by * element.direction(p[i], m[i], v[i]);
}

TRAINLAB_INLINE double value_of(float x) { return x; }
TRAINLAB_INLINE double value_of(double x) { return x; }
TRAINLAB_INLINE double value_of(std::uint16_t x) { return wide(x); }

template <class T>
TRAINLAB_INLINE double squares(const T* x, std::int64_t n) {
  double sums[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (std::int64_t lane = 0; lane < lanes; ++lane) sums[lane] += value_of(x[i + lane]) * value_of(x[i + lane]);
  double total = 0;
  for (; i < n; ++i) total += value_of(x[i]) * value_of(x[i]);
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
TRAINLAB_UPDATE(ScheduleFreeSlice)
TRAINLAB_UPDATE(ScheduleFreeAdamSlice)

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

TRAINLAB_CLONES double sum_of_squares(const std::uint16_t* x, std::int64_t n) { return squares(x, n); }
TRAINLAB_CLONES void scale(std::uint16_t* x, std::int64_t n, double factor) {
  const auto by = float(factor);
  for (std::int64_t i = 0; i < n; ++i) x[i] = nearest_bfloat16(by * wide(x[i]));
}

}  // namespace trainlab
