// Measures that several rules read off the figures.
#pragma once

#include <vector>

#include "health/figures.h"

namespace trainlab {

// Whether `steps` steps are done, and `share` of the planned ones.
bool has_seen(const HealthFigures& figures, std::int64_t steps, double share);

// The loss from which learning counts: of the first step, or of the best constant prediction where that is larger.
double start_loss(const HealthFigures& figures);
// Share of start_loss() that the mean loss of the last fifth of the steps lies below it. NaN before the first step, and
// where the start is not positive.
double learnt(const HealthFigures& figures);
// The part of the fall of the loss so far that came in the second half: 0.5 where the loss falls evenly.
double late_share(const HealthFigures& figures);

// A member of the rows from the `first` step on, in order, without NaN.
std::vector<double> column(const HealthFigures& figures, double MeasuredStep::*member, double first = 0);
// The median update of the weights relative to their size (median over weights, then over steps), of the steps with at
// least half of the largest rate so far: warm-up and decay do not count.
double typical_update(const HealthFigures& figures);
// −Σ g'·u / Σ g·u over the same steps; NaN with fewer than five, and where the updates do not go down.
double typical_overshoot(const HealthFigures& figures);
// Whether the loss has risen far above its beginning.
bool loss_rose(const HealthFigures& figures);
// Whether updates were a large part of the weights; a smaller part is enough where the loss rose.
bool was_rate_high(const HealthFigures& figures);

// "rate 0.003" as an option of the recipe, multiplied by a factor: "lr = 0.00075".
std::string lr_text(const HealthFigures& figures, double factor);

}  // namespace trainlab
