// The updates of kernels.h for whole tensors on any device, operator by operator, from the same rules (elements.h).
//
// The numbers equal those of the loops to rounding. p and the states are changed in place; a state that the update does
// not use may be undefined. Nothing synchronises the device. Gradients must be off. Thread-safe.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>

#include "kernels.h"

namespace trainlab {

void update(const at::Tensor& p, const at::Tensor& g, std::span<const at::Tensor> state, const SgdSlice& numbers);
void update(const at::Tensor& p, const at::Tensor& g, std::span<const at::Tensor> state, const AdamSlice& numbers);
void update(const at::Tensor& p, const at::Tensor& g, std::span<const at::Tensor> state, const AdamaxSlice& numbers);
void update(const at::Tensor& p, const at::Tensor& g, std::span<const at::Tensor> state, const NAdamSlice& numbers);
void update(const at::Tensor& p, const at::Tensor& g, std::span<const at::Tensor> state, const RAdamSlice& numbers);
void update(const at::Tensor& p, const at::Tensor& g, std::span<const at::Tensor> state, const AdagradSlice& numbers);
void update(const at::Tensor& p, const at::Tensor& g, std::span<const at::Tensor> state, const AdadeltaSlice& numbers);
void update(const at::Tensor& p, const at::Tensor& g, std::span<const at::Tensor> state, const RmspropSlice& numbers);
void update(const at::Tensor& p, const at::Tensor& g, std::span<const at::Tensor> state, const RpropSlice& numbers);
void update(const at::Tensor& p, const at::Tensor& g, std::span<const at::Tensor> state, const AsgdSlice& numbers);
void update(const at::Tensor& p, const at::Tensor& g, std::span<const at::Tensor> state, const LionSlice& numbers);
void update(const at::Tensor& p, const at::Tensor& g, std::span<const at::Tensor> state,
            const ScheduleFreeSlice& numbers);
void update(const at::Tensor& p, const at::Tensor& g, std::span<const at::Tensor> state,
            const ScheduleFreeAdamSlice& numbers);

// LAMB's step: the moments take g in, then p ← p − rate·‖p‖ / ‖r‖·r, with the ratio 1 where a norm is 0.
void lamb_update(const at::Tensor& p, const at::Tensor& g, const at::Tensor& m, const at::Tensor& v,
                 const LambSlice& numbers, double rate);

}  // namespace trainlab
