// Measures that several rules compute from the figures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "health/verdict.h"

namespace trainlab {

// Whether at least `steps` steps are done, and at least the share `share` of the planned steps.
bool has_seen(const HealthFigures& figures, std::int64_t steps, double share);

// The loss from which learning is measured: the loss of the first step, or that of the best constant prediction where
// the latter is larger.
double start_loss(const HealthFigures& figures);
// Whether trained weights begin with a loss of which nobody knows how far it has fallen before, because the loss of a
// model that knows nothing is unknown.
bool is_start_unknown(const HealthFigures& figures);
// How far the mean loss of the last fifth of the steps lies below start_loss(), as a share of start_loss(). NaN before
// the first step, where start_loss() is not positive, and where the start is unknown.
double learnt(const HealthFigures& figures);
// The share of the fall of the loss so far that came in the second half of the steps: 0.5 where the loss falls evenly.
double late_share(const HealthFigures& figures);

// The values of one member of the measured steps from step `first` on, in order, without NaN.
std::vector<double> column(const HealthFigures& figures, double MeasuredStep::*member, double first = 0);
// The update of the weights relative to their size, as the median over weights and then over steps. Only steps with at
// least half of the largest rate so far count, so that warm-up and decay are left out.
double typical_update(const HealthFigures& figures);
// The largest learning rate of the measured steps; 0 where none is known.
double largest_rate(const HealthFigures& figures);
// −Σ g'·u / Σ g·u over the same steps; NaN with fewer than five, and where the updates do not go down.
double typical_overshoot(const HealthFigures& figures);
// Whether the loss has risen far above its beginning.
bool loss_rose(const HealthFigures& figures);
// Whether updates were a large part of the weights; a smaller part is enough where the loss rose.
bool was_rate_high(const HealthFigures& figures);

// The share of a gradient's square that two batches have in common, Σ g·g' / Σ ‖g‖², which has no bias (McCandlish et
// al. 2018); the noise scale is 1 / share − 1 batches. NaN with fewer than 8 rows.
double common_share(const HealthFigures& figures);
// Whether noise is more than half of a gradient, and an update down the slope of one batch goes down less than 35 % of
// this slope in the next batch.
bool are_gradients_noise(const HealthFigures& figures);
// The part of the weights by which the planned steps would change them if all updates had one direction.
double most_change(const HealthFigures& figures);
// Whether gradients are noise in a run whose updates could change the weights by half or more. Where all updates in
// one direction could not, the rate is too low, however noisy the gradients are.
bool drowns_in_noise(const HealthFigures& figures);

// Where a function of the recipe sets the rate: "r.lua:16"; empty if the rate is schedule × lr.
std::string rate_setter(const HealthFigures& figures);
// The rate that this function sets, or lr.
double rate_to_change(const HealthFigures& figures);
// The advice to multiply the recipe's learning rate by a factor: "lr = 0.00075 in place of 0.003", or "a rate of
// 0.00075 in place of 0.003, which r.lua:16 sets".
std::string lr_text(const HealthFigures& figures, double factor);
// The same as a cure; nullopt where lr is not what sets the rate.
std::optional<Cure> lr_cure(const HealthFigures& figures, double factor, std::int64_t good_until = 0);
// Initial weights that fit the model's activations.
Cure init_cure(const HealthFigures& figures);

}  // namespace trainlab
