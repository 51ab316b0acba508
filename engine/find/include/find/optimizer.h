// Finds how much a fit depends on its optimizer and on its learning rate: for a few optimizers, the best rate and the
// range of rates that are nearly as good.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "core/registry.h"
#include "find/context.h"
#include "find/rate_curve.h"
#include "run/stage.h"

namespace trainlab {

// The range of rates around the best rate whose losses exceed the least loss by at most a tenth of the least loss.
struct GoodRates {
  double low = std::nan(""), high = std::nan("");  // NaN: unknown
  bool is_open = false;                            // the range ends where the curve ends: the true range may be wider
  double octaves() const;
};

// The good rates of a curve, which is in the order of its rates, with equal factors from one to the next. A loss that
// was not finite is NaN. The ends are interpolated linearly over the logarithm of the rate, and unknown where no loss
// is finite. Pure.
GoodRates good_rates(const std::vector<RatePoint>& curve);

struct TunedOptimizer {
  std::string name;                   // "AdamW", "SGD with momentum 0.9"
  bool is_own = false;                // whether it is the fit's own optimizer
  double rate = 0;                    // the best of three around the best of `curve`
  double loss = 0, error = 0;         // at the best rate: mean over the seeds, standard error; NaN: not finite
  std::vector<RatePoint> curve = {};  // from trainings with one seed and a third of the length
  GoodRates good = {};                // the good rates of `curve`
  double usual_rate = 0;              // the entry's default rate; for the fit's own optimizer the recipe's rate
  double usual_loss = 0;              // the mean over the seeds at the usual rate
  double default_rate = 0;            // the entry's default rate; NaN: it has none
  double default_loss = 0;            // the mean over the seeds at this rate; NaN unless has_other_default()

  // Whether the recipe has another rate than the entry's default.
  bool has_other_default() const { return !std::isnan(default_rate) && default_rate != usual_rate; }
};

struct FoundOptimizer {
  std::string metric;               // "val.loss", or "train.loss" without validation; empty: no training has ended
  std::vector<TunedOptimizer> all;  // the fit's optimizer first
  std::size_t suggestion = 0;       // index: within 5 % of the least loss, the widest range of good rates
  int seeds = 0;
  std::int64_t steps = 0;  // length of the fit
  // Why the search ended before its end, with the optimizers that were tuned by then, or the fit's own as it is; empty:
  // it came to its end.
  std::string stopped = {};

  // The least and the largest loss among the optimizers at their best rates; NaN where none is finite.
  double least() const;
  double most() const;
};

struct OptimizerOptions {
  int seeds = 3;
  SearchContext context = {};
};

// Trains a checked lab.fit, whose length is in epochs, steps or FLOPs, with its own optimizer, AdamW, SGD with
// momentum, RMSprop and Lion: nine rates or more by factors of two with one seed and a third of the length, then the
// best and its neighbours with each seed and the whole length, the usual rate, and the own optimizer's default rate.
// Nothing is written, and the recipe's functions in `on` are not called. Error{recipe} for a fit with a step of its
// own, and where no optimizer keeps the loss finite.
FoundOptimizer find_optimizer(const Registry& registry, const Spec& fit, const RunSettings& settings,
                              const OptimizerOptions& options);

// The text of a search that came to its end.
std::string optimizer_text(const FoundOptimizer& found);
// { kind = "finder", optimizer = { suggestion, lr, octaves }, optimizers = { … } }, with nil for what is not known.
Value to_value(const FoundOptimizer& found);

}  // namespace trainlab
