// Loops over contiguous values on the CPU: the updates of all elementwise optimizers, clipping and averaging.
//
// One pass over memory, vectorised by the compiler for the machine it runs on; every variant rounds alike because
// products and sums are never contracted. `n` values each; the arrays do not overlap. Thread-safe.
//
// An update's numbers are a struct; update(p, g, state, n, numbers) changes p and the state arrays in place, with g the
// gradient. `decay` is always an L2 penalty, g ← g + decay·p, and `shrink` a decoupled one, p ← shrink·p.
#pragma once

#include <cstdint>

namespace trainlab {

// state: velocity; without it p ← p − rate·g. velocity ← keep·velocity + take·g; p ← p − rate·(look·g + use·velocity).
// The first step of PyTorch's momentum has keep = 0 and take = 1; Nesterov has look = 1 and use = momentum.
struct SgdSlice {
  double rate, decay, keep, take, look, use;
  bool with_velocity;
};

// state: m, v, running maximum of v, which takes v's place where `with_peak`. p ← p − size·m / (√v·scale + eps), where
// size = lr / (1 − beta1^t) and scale = 1 / √(1 − beta2^t).
struct AdamSlice {
  double shrink, decay, beta1, beta2, eps, size, scale;
  bool with_peak;
};

// state: m, u. m as in Adam; u ← max(beta2·u, |g| + eps); p ← p − size·m / u.
struct AdamaxSlice {
  double decay, beta1, beta2, eps, size;
};

// state: m, v as in Adam. p ← p − (of_gradient·g + of_average·m) / (√(v·scale) + eps).
struct NAdamSlice {
  double shrink, decay, beta1, beta2, eps, scale, of_gradient, of_average;
};

// state: m, v as in Adam. p ← p − size·m·(adapts ? 1 / (√v + eps) : 1).
struct RAdamSlice {
  double shrink, decay, beta1, beta2, eps, size;
  bool adapts;
};

// state: sum of squares, which starts at `initial` where `first`. p ← p − rate·g / (√sum + eps).
struct AdagradSlice {
  double rate, decay, eps, initial;
  bool first;
};

// state: v, running mean of squared changes a. change = √(a + eps) / √(v + eps)·g; p ← p − rate·change.
struct AdadeltaSlice {
  double rate, decay, rho, eps;
};

// state: v, velocity (unused unless with_velocity), mean gradient (unused unless centered).
// velocity ← momentum·velocity + g / (√(v − mean²) + eps); p ← p − rate·velocity.
struct RmspropSlice {
  double rate, decay, alpha, eps, momentum;
  bool with_velocity, centered;
};

// state: the previous gradient, step sizes, which start at `initial` where `first`. A step size grows where the sign of
// the gradient stays and shrinks where it changes; there the gradient counts as 0.
struct RpropSlice {
  double shrink, grow, smallest, largest, initial;
  bool first;
};

// state: average of p. p ← p·shrink − eta·g; average ← average + take·(p − average).
struct AsgdSlice {
  double decay, shrink, eta, take;
};

// state: m. p ← shrink·p − rate·sign(beta1·m + (1 − beta1)·g); m ← beta2·m + (1 − beta2)·g.
struct LionSlice {
  double shrink, rate, beta1, beta2;
};

// state: z, which starts at p where `first`. u = g + decay·p; p ← p + take·(z − p) + back·u; z ← z − rate·u, where p
// on the right is that before the step.
struct ScheduleFreeSlice {
  double rate, decay, take, back;
  bool first;
};

// state: z, v. The same with g / (√v·scale + eps) in place of g, after v took g² in.
struct ScheduleFreeAdamSlice {
  ScheduleFreeSlice move;
  double beta2, eps, scale;
};

#define TRAINLAB_UPDATE(Slice)                                                                      \
  void update(float* p, const float* g, float* const* state, std::int64_t n, const Slice& numbers); \
  void update(double* p, const double* g, double* const* state, std::int64_t n, const Slice& numbers)
TRAINLAB_UPDATE(SgdSlice);
TRAINLAB_UPDATE(AdamSlice);
TRAINLAB_UPDATE(AdamaxSlice);
TRAINLAB_UPDATE(NAdamSlice);
TRAINLAB_UPDATE(RAdamSlice);
TRAINLAB_UPDATE(AdagradSlice);
TRAINLAB_UPDATE(AdadeltaSlice);
TRAINLAB_UPDATE(RmspropSlice);
TRAINLAB_UPDATE(RpropSlice);
TRAINLAB_UPDATE(AsgdSlice);
TRAINLAB_UPDATE(LionSlice);
TRAINLAB_UPDATE(ScheduleFreeSlice);
TRAINLAB_UPDATE(ScheduleFreeAdamSlice);
#undef TRAINLAB_UPDATE

// LAMB's direction r = m·size / (√v·scale + eps) + decay·p after the moments took g in, and p ← p − rate·r.
struct LambSlice {
  double beta1, beta2, eps, size, scale, decay;
};
struct SquaredNorms {
  double values = 0, direction = 0;
};
SquaredNorms lamb_moments(const float* p, const float* g, float* m, float* v, std::int64_t n, const LambSlice& numbers);
SquaredNorms lamb_moments(const double* p, const double* g, double* m, double* v, std::int64_t n,
                          const LambSlice& numbers);
void lamb_apply(float* p, const float* m, const float* v, std::int64_t n, const LambSlice& numbers, double rate);
void lamb_apply(double* p, const double* m, const double* v, std::int64_t n, const LambSlice& numbers, double rate);

// Σ x², summed in double in a fixed order. uint16: the bits of bfloat16.
double sum_of_squares(const float* x, std::int64_t n);
double sum_of_squares(const double* x, std::int64_t n);
double sum_of_squares(const std::uint16_t* x, std::int64_t n);
// x ← factor·x.
void scale(float* x, std::int64_t n, double factor);
void scale(double* x, std::int64_t n, double factor);
void scale(std::uint16_t* x, std::int64_t n, double factor);
// x ← x limited to −bound … bound; NaN stays NaN.
void limit(float* x, std::int64_t n, double bound);
void limit(double* x, std::int64_t n, double bound);
// y ← y + factor·x.
void add_scaled(float* y, const float* x, std::int64_t n, double factor);
void add_scaled(double* y, const double* x, std::int64_t n, double factor);
// average ← average + take·(x − average).
void move_towards(float* average, const float* x, std::int64_t n, double take);
void move_towards(double* average, const double* x, std::int64_t n, double take);

}  // namespace trainlab
