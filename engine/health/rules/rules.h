// The rules, one function for each fault. A rule looks for its own fault only; judge() knows which faults are symptoms
// of others. A threshold without a stated source was measured on small networks (see docs/health.md).
#pragma once

#include <optional>

#include "health/verdict.h"

namespace trainlab {

using Finding = std::optional<HealthVerdict>;

// Rules for the data, in rules_data.cpp.
Finding find_unnormalised_inputs(const HealthFigures& figures);
Finding find_leakage(const HealthFigures& figures);
Finding find_leakage_into_test(const HealthFigures& figures);
Finding find_one_label(const HealthFigures& figures);
Finding find_below_floor(const HealthFigures& figures);
Finding find_not_finite_data(const HealthFigures& figures);

// Rules for initial weights and layers, in rules_layers.cpp.
Finding find_exploding_gradients(const HealthFigures& figures);
Finding find_vanishing_gradients(const HealthFigures& figures);
Finding find_dead_units(const HealthFigures& figures);
Finding find_saturated_at_start(const HealthFigures& figures);
Finding find_saturated_later(const HealthFigures& figures);
Finding find_small_batch_statistics(const HealthFigures& figures);

// Rules for the learning rate, in rules_rate.cpp.
Finding find_rate_too_high(const HealthFigures& figures);
// A loss that rises again, far above the best loss so far.
Finding find_loss_lost_again(const HealthFigures& figures);
// The reason for which a rate is no longer called too high, and gradients no longer vanishing: the training has learnt
// nearly all that there is to learn.
std::optional<std::string> refute_by_learning(const HealthVerdict& verdict, const HealthFigures& figures);
Finding find_rate_too_low(const HealthFigures& figures);
Finding find_not_finite(const HealthFigures& figures);
Finding find_noisy_gradients(const HealthFigures& figures);

// Rules for the course of the run, in rules_course.cpp.
Finding find_overfitting(const HealthFigures& figures);
// The reason for which a verdict of overfitting no longer holds: since then the validation loss has fallen below its
// best before, by more than 2 standard errors.
std::optional<std::string> refute_overfitting(const HealthVerdict& verdict, const HealthFigures& figures);
Finding find_underfitting(const HealthFigures& figures);
// The reason for which a training that went on longer no longer underfits.
std::optional<std::string> refute_underfitting(const HealthVerdict& verdict, const HealthFigures& figures);
Finding find_plateau(const HealthFigures& figures);
Finding find_one_class_chosen(const HealthFigures& figures);
// Where most labels are of one class.
Finding find_rare_classes_missed(const HealthFigures& figures);

}  // namespace trainlab
