// Finds a learning rate for a fit: range tests over several seeds as a start, then short trainings at rates around it.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "core/registry.h"
#include "find/context.h"
#include "find/rate_curve.h"
#include "run/stage.h"

namespace trainlab {

// A learning rate with the losses at the ends of short trainings at this rate.
struct ProbedRate {
  double rate = 0;
  double loss = 0;                  // mean over the seeds; NaN if the loss of a seed was not finite
  double error = std::nan("");      // standard error of its difference from the loss at the best rate; NaN: one seed
  std::vector<double> losses = {};  // by seed: the same weights and data as at other rates
};

// The rate that is chosen among probed ones.
struct RateChoice {
  double suggestion = 0;  // geometric middle of `low` and `high`
  // The rates around the best whose losses exceed its loss by no more than their errors; NaN where none were probed.
  double low = std::nan(""), high = std::nan("");
  bool is_bounded = false;  // whether there is a worse rate on both sides of these
};

// Chooses a rate, and sets `error` of all. `probes` is in the order of rates. The suggestion is 0 where no loss is
// finite. Pure.
RateChoice choose_rate(std::vector<ProbedRate>& probes);

struct FoundRate {
  RateChoice choice = {};
  double start = std::nan("");  // quarter_of_least of the range tests; NaN: none has ended
  RateSuggestions rules = {};
  std::vector<RatePoint> curve = {};  // mean over the seeds, up to the first point that a seed lacks
  std::vector<ProbedRate> probes = {};
  std::string metric = {};  // of the probes: "val.loss", or "train.loss" without validation; empty: none has ended
  int seeds = 0;
  std::int64_t range_steps = 0, probe_steps = 0;  // length of a range test, and of a probe
  std::int64_t steps = 0;                         // length of the fit
  // Why the search ended before its end, with the rate that was known then: of the rates that were probed, or with too
  // few of these `start`, or the fit's own; empty: it came to its end.
  std::string stopped = {};
};

struct RateOptions {
  int seeds = 5;
  std::int64_t range_steps = 140;  // 20 steps for each factor of 10
  std::int64_t probe_steps = 0;    // 0: by the length of the fit
  SearchContext context = {};
};

// `fit` is a checked lab.fit. Each training begins from new weights, and nothing is written; the recipe's functions in
// `on` are not called. Error{recipe} for a fit with a step of its own, and where the loss is not finite at any rate.
FoundRate find_rate(const Registry& registry, const Spec& fit, const RunSettings& settings, const RateOptions& options);

// The text of a search that came to its end.
std::string rate_text(const FoundRate& found);
// { kind = "finder", lr = { suggestion, valley, steepest, … }, curve = { { lr, loss }, … } }, with nil for what is not
// known.
Value to_value(const FoundRate& found);

}  // namespace trainlab
