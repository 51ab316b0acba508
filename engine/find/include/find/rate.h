// Finds a learning rate for a fit: range tests over several seeds as a start, then a probe of three rates around it.
#pragma once

#include <string>
#include <vector>

#include "core/registry.h"
#include "find/context.h"
#include "find/rate_curve.h"
#include "run/stage.h"

namespace trainlab {

// Short trainings at one rate from the initial weights of each seed: the mean of the losses of the last half.
struct ProbedRate {
  double rate = 0;
  double loss = 0;  // mean over the seeds; NaN if one of them was lost
};

struct FoundRate {
  double suggestion = 0;  // the best probed rate, or the start where the probe does not tell
  double start = 0;       // of the range tests: quarter_of_least
  RateSuggestions rules = {};
  std::vector<RatePoint> curve = {};  // the mean over the seeds, to the first point that one of them lacks
  std::vector<ProbedRate> probes = {};
  // Standard error of the difference between the losses of the start and of the better of the other two.
  double error = 0;
  bool is_clear = false;  // the best probe is better than the start's by more than 3 errors, or the start is the best
  int seeds = 0;
  std::int64_t steps = 0;  // of a range test and of a probe
};

struct RateOptions {
  int seeds = 5;
  std::int64_t steps = 140;  // of a range test: 20 for each factor of 10
  SearchContext context = {};
};

// `fit` is a checked lab.fit. Each training begins from new weights, and nothing is written; the recipe's functions in
// `on` are not called. Error{recipe} for a fit with a step of its own, and where the loss is not finite at any rate.
FoundRate find_rate(const Registry& registry, const Spec& fit, const RunSettings& settings, const RateOptions& options);

// "optim.lr", or "optim.base.lr" of a wrapper such as optim.SAM: the path of the rate in a fit with this optimizer.
std::string rate_option_of(const Value& optimizer);

std::string rate_text(const FoundRate& found);
// { kind = "finder", lr = { suggestion, valley, steepest, … }, curve = { { lr, loss }, … } }
Value to_value(const FoundRate& found);

}  // namespace trainlab
