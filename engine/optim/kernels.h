// Loops over one contiguous slice of a tensor on the CPU: updates of stacked members, whose rates differ, and clipping.
//
// One pass over memory, vectorised by the compiler for the machine it runs on; every variant rounds alike because
// products and sums are never contracted. `n` values each; the arrays do not overlap. Thread-safe.
#pragma once

#include <cstdint>

namespace trainlab {

// g ← g + decay·p; buffer ← keep·buffer + take·g; p ← p − rate·(look·g + use·buffer).
// The first step of PyTorch's momentum has keep = 0 and take = 1; Nesterov has look = 1 and use = momentum.
struct SgdSlice {
  double rate, decay, keep, take, look, use;
};

// p ← shrink·p (AdamW) and g ← g + decay·p (Adam); m ← m + (1 − beta1)(g − m); v ← beta2·v + (1 − beta2)·g²;
// p ← p − size·m / (√v·scale + eps), where size = lr / (1 − beta1^t) and scale = 1 / √(1 − beta2^t).
// With `peak` (amsgrad) v is replaced by its running maximum.
struct AdamSlice {
  double shrink, decay, beta1, beta2, eps, size, scale;
};

void sgd_update(float* p, const float* g, float* buffer, std::int64_t n, const SgdSlice& slice);
void sgd_update(double* p, const double* g, double* buffer, std::int64_t n, const SgdSlice& slice);
// Without momentum: p ← p − rate·(g + decay·p).
void sgd_update(float* p, const float* g, std::int64_t n, const SgdSlice& slice);
void sgd_update(double* p, const double* g, std::int64_t n, const SgdSlice& slice);

void adam_update(float* p, const float* g, float* m, float* v, std::int64_t n, const AdamSlice& slice);
void adam_update(double* p, const double* g, double* m, double* v, std::int64_t n, const AdamSlice& slice);
void adam_update(float* p, const float* g, float* m, float* v, float* peak, std::int64_t n, const AdamSlice& slice);
void adam_update(double* p, const double* g, double* m, double* v, double* peak, std::int64_t n,
                 const AdamSlice& slice);

// Σ x², summed in double in a fixed order.
double sum_of_squares(const float* x, std::int64_t n);
double sum_of_squares(const double* x, std::int64_t n);
// x ← factor·x.
void scale(float* x, std::int64_t n, double factor);
void scale(double* x, std::int64_t n, double factor);

}  // namespace trainlab
