// The noise scale of a fit's gradients, measured at three places of a training. Private to the room.
#pragma once

#include <cstdint>
#include <vector>

#include "find/batch.h"
#include "trainings.h"

namespace trainlab {

// The length of a training in which this many steps train, whatever the size of an epoch: the others measure gradients.
std::int64_t steps_with_noise(std::int64_t training_steps);

// The most bytes of the tensors that measured_noise() holds beside those of the training.
std::int64_t noise_bytes(const FitPlan& plan);

// Trains `plan` for `longest` steps, or for its own length where that is less, and measures the gradients at an eighth,
// at the half and at the end of this training, where the weights stay unchanged for 32 steps. A step with fewer samples
// than plan.length.batch, which the last step of an epoch may be, trains, and its gradient is not measured: the
// gradient of a smaller batch has more noise. Error{recipe} for a fit that is too short, for steps that take more than
// half of the samples of an epoch, and for a training that ends before its length or whose loss is not finite. Where an
// epoch draws its samples with replacement, a step may take as many as the epoch has.
std::vector<NoiseAt> measured_noise(Trainings& trainings, const FitPlan& plan, std::int64_t longest);

}  // namespace trainlab
