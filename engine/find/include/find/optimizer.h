// How much a fit depends on its optimizer and on its rate: a few optimizers, each with its best rate and with the
// rates that are nearly as good.
#pragma once

#include <string>
#include <vector>

#include "core/registry.h"
#include "find/context.h"
#include "find/rate_curve.h"
#include "run/stage.h"

namespace trainlab {

// The rates around the best one whose loss is at most a tenth of the least loss above it.
struct GoodRates {
  double low = 0, high = 0;
  bool is_open = false;  // the curve does not go on to where the loss is higher: the true range is wider
  double octaves() const;
};

// `curve` in the order of its rates, with steps of equal factors; a loss of NaN is that of a training whose loss was
// not finite. The ends lie on lines between points, over the logarithm of the rate. Nothing but zeros where no loss is
// finite. Pure.
GoodRates good_rates(const std::vector<RatePoint>& curve);

struct TunedOptimizer {
  std::string name;                   // "AdamW", "SGD with momentum 0.9"
  bool is_own = false;                // the fit's
  double rate = 0;                    // the best of three around the best of `curve`
  double loss = 0, error = 0;         // at this rate: the mean over the seeds and its standard error; NaN: never finite
  std::vector<RatePoint> curve = {};  // one seed and a third of the length for each rate
  GoodRates good = {};                // of `curve`
  double usual_rate = 0;              // the default of the entry; of the fit's optimizer the rate in the recipe
  double usual_loss = 0;              // the mean over the seeds at this rate
};

struct FoundOptimizer {
  std::string metric;               // "val.loss", or "train.loss" without validation
  std::vector<TunedOptimizer> all;  // the fit's optimizer first
  std::size_t suggestion = 0;       // of those within 5 % of the least loss, the one with the most octaves
  int seeds = 0;
  std::int64_t steps = 0;  // of the fit

  // The least and the largest loss of the optimizers with their best rates; NaN where none is finite.
  double least() const;
  double most() const;
};

struct OptimizerOptions {
  int seeds = 3;
  SearchContext context = {};
};

// Trains a checked lab.fit, whose length is in epochs or steps, with its own optimizer, AdamW, SGD with momentum,
// RMSprop and Lion: nine rates or more by factors of two with one seed and a third of the length, then the best and its
// neighbours with each seed and the whole length, and the usual rate. Nothing is written, and the recipe's functions in
// `on` are not called. Error{recipe} for a fit with a step of its own, and where no optimizer keeps the loss finite.
FoundOptimizer find_optimizer(const Registry& registry, const Spec& fit, const RunSettings& settings,
                              const OptimizerOptions& options);

std::string optimizer_text(const FoundOptimizer& found);
// { kind = "finder", optimizer = { name, lr, … }, optimizers = { … } }
Value to_value(const FoundOptimizer& found);

}  // namespace trainlab
