// Finds a learning rate for a fit: range tests over several seeds as a start, then a probe of three rates around it.
#pragma once

#include <string>
#include <vector>

#include "core/registry.h"
#include "find/context.h"
#include "find/rate_curve.h"
#include "run/stage.h"

namespace trainlab {

// A learning rate with the loss of short trainings at this rate, one for each seed. The loss of a training is the mean
// over the second half of its steps.
struct ProbedRate {
  double rate = 0;
  double loss = 0;  // mean over the seeds; NaN if the loss of a seed was not finite
};

struct FoundRate {
  double suggestion = 0;  // the best probed rate, or the start where the probe is not clear
  double start = 0;       // quarter_of_least of the range tests
  RateSuggestions rules = {};
  std::vector<RatePoint> curve = {};  // mean over the seeds, up to the first point that a seed lacks
  std::vector<ProbedRate> probes = {};
  // Standard error of the difference between the loss at the start and the lower loss of the other two probes.
  double error = 0;
  bool is_clear = false;  // the best probe beats the start by more than 3 errors, or is the start
  int seeds = 0;
  std::int64_t steps = 0;  // length of a range test, and of a probe
};

struct RateOptions {
  int seeds = 5;
  std::int64_t steps = 140;  // length of a range test: 20 steps for each factor of 10
  SearchContext context = {};
};

// `fit` is a checked lab.fit. Each training begins from new weights, and nothing is written; the recipe's functions in
// `on` are not called. Error{recipe} for a fit with a step of its own, and where the loss is not finite at any rate.
FoundRate find_rate(const Registry& registry, const Spec& fit, const RunSettings& settings, const RateOptions& options);

std::string rate_text(const FoundRate& found);
// { kind = "finder", lr = { suggestion, valley, steepest, … }, curve = { { lr, loss }, … } }
Value to_value(const FoundRate& found);

}  // namespace trainlab
