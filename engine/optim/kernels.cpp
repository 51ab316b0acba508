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
TRAINLAB_INLINE void sgd_with_buffer(T* __restrict p, const T* __restrict g, T* __restrict buffer, std::int64_t n,
                                     const SgdSlice& slice) {
  const T rate = T(slice.rate), decay = T(slice.decay), keep = T(slice.keep), take = T(slice.take);
  const T look = T(slice.look), use = T(slice.use);
  for (std::int64_t i = 0; i < n; ++i) {
    const T gradient = g[i] + decay * p[i];
    const T velocity = keep * buffer[i] + take * gradient;
    buffer[i] = velocity;
    p[i] -= rate * (look * gradient + use * velocity);
  }
}

template <class T>
TRAINLAB_INLINE void sgd_plain(T* __restrict p, const T* __restrict g, std::int64_t n, const SgdSlice& slice) {
  const T rate = T(slice.rate), decay = T(slice.decay);
  for (std::int64_t i = 0; i < n; ++i) p[i] -= rate * (g[i] + decay * p[i]);
}

template <class T>
TRAINLAB_INLINE void adam(T* __restrict p, const T* __restrict g, T* __restrict m, T* __restrict v, std::int64_t n,
                          const AdamSlice& slice) {
  const T shrink = T(slice.shrink), decay = T(slice.decay), move1 = T(1 - slice.beta1), beta2 = T(slice.beta2);
  const T take2 = T(1 - slice.beta2), eps = T(slice.eps), size = T(slice.size), scale = T(slice.scale);
  for (std::int64_t i = 0; i < n; ++i) {
    const T before = shrink * p[i];
    const T gradient = g[i] + decay * p[i];
    m[i] += move1 * (gradient - m[i]);
    v[i] = beta2 * v[i] + take2 * gradient * gradient;
    p[i] = before - size * m[i] / (std::sqrt(v[i]) * scale + eps);
  }
}

template <class T>
TRAINLAB_INLINE void adam_peak(T* __restrict p, const T* __restrict g, T* __restrict m, T* __restrict v,
                               T* __restrict peak, std::int64_t n, const AdamSlice& slice) {
  const T shrink = T(slice.shrink), decay = T(slice.decay), move1 = T(1 - slice.beta1), beta2 = T(slice.beta2);
  const T take2 = T(1 - slice.beta2), eps = T(slice.eps), size = T(slice.size), scale = T(slice.scale);
  for (std::int64_t i = 0; i < n; ++i) {
    const T before = shrink * p[i];
    const T gradient = g[i] + decay * p[i];
    m[i] += move1 * (gradient - m[i]);
    v[i] = beta2 * v[i] + take2 * gradient * gradient;
    peak[i] = peak[i] > v[i] ? peak[i] : v[i];
    p[i] = before - size * m[i] / (std::sqrt(peak[i]) * scale + eps);
  }
}

template <class T>
TRAINLAB_INLINE double squares(const T* x, std::int64_t n) {
  constexpr std::int64_t lanes = 16;  // independent sums, so that the order is fixed and the loop still vectorises
  double sums[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (std::int64_t lane = 0; lane < lanes; ++lane) sums[lane] += double(x[i + lane]) * double(x[i + lane]);
  double total = 0;
  for (; i < n; ++i) total += double(x[i]) * double(x[i]);
  for (const double sum : sums) total += sum;
  return total;
}

template <class T>
TRAINLAB_INLINE void multiply(T* x, std::int64_t n, double factor) {
  const T by = T(factor);
  for (std::int64_t i = 0; i < n; ++i) x[i] *= by;
}

}  // namespace

TRAINLAB_CLONES void sgd_update(float* p, const float* g, float* buffer, std::int64_t n, const SgdSlice& slice) {
  sgd_with_buffer(p, g, buffer, n, slice);
}
TRAINLAB_CLONES void sgd_update(double* p, const double* g, double* buffer, std::int64_t n, const SgdSlice& slice) {
  sgd_with_buffer(p, g, buffer, n, slice);
}
TRAINLAB_CLONES void sgd_update(float* p, const float* g, std::int64_t n, const SgdSlice& slice) {
  sgd_plain(p, g, n, slice);
}
TRAINLAB_CLONES void sgd_update(double* p, const double* g, std::int64_t n, const SgdSlice& slice) {
  sgd_plain(p, g, n, slice);
}
TRAINLAB_CLONES void adam_update(float* p, const float* g, float* m, float* v, std::int64_t n,
                                 const AdamSlice& slice) {
  adam(p, g, m, v, n, slice);
}
TRAINLAB_CLONES void adam_update(double* p, const double* g, double* m, double* v, std::int64_t n,
                                 const AdamSlice& slice) {
  adam(p, g, m, v, n, slice);
}
TRAINLAB_CLONES void adam_update(float* p, const float* g, float* m, float* v, float* peak, std::int64_t n,
                                 const AdamSlice& slice) {
  adam_peak(p, g, m, v, peak, n, slice);
}
TRAINLAB_CLONES void adam_update(double* p, const double* g, double* m, double* v, double* peak, std::int64_t n,
                                 const AdamSlice& slice) {
  adam_peak(p, g, m, v, peak, n, slice);
}

TRAINLAB_CLONES double sum_of_squares(const float* x, std::int64_t n) { return squares(x, n); }
TRAINLAB_CLONES double sum_of_squares(const double* x, std::int64_t n) { return squares(x, n); }
TRAINLAB_CLONES void scale(float* x, std::int64_t n, double factor) { multiply(x, n, factor); }
TRAINLAB_CLONES void scale(double* x, std::int64_t n, double factor) { multiply(x, n, factor); }

}  // namespace trainlab
