// Trains a fit with a smaller and a larger model, to tell whether a larger model would be better and what it costs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/registry.h"
#include "find/context.h"
#include "find/seeded_findings.h"
#include "run/stage.h"
#include "train/model_changes.h"

namespace trainlab {

struct ModelSize {
  double factor = 1;  // times the features of the recipe's hidden layers
  std::int64_t parameters = 0;
  std::vector<std::string> set = {};  // the features, as texts of --set
  std::vector<double> values = {};    // one for each seed
  double seconds = 0;                 // of a training
  double mean = 0, error = 0;         // of the values; the standard error
  // The mean difference from the recipe's model within pairs of equal seeds, and its 95 % interval by Student's t.
  double difference = 0, low = 0, high = 0;

  bool is_own() const { return factor == 1; }  // whether this is the recipe's model
};

struct FoundModelSizes {
  SeededFindings seeded;
  std::vector<ModelSize> sizes = {};       // in ascending order
  std::vector<std::string> left_out = {};  // why sizes were not trained: "0.25 times the features: …"
};

// Trains a checked lab.fit with a quarter, half, one, two and four times the features of its hidden layers, with the
// length that the fit has: with three seeds, or, where the context limits the time, with as many as fit into it, 2 to
// 10. A size with which the fit cannot be planned is left out. Nothing is written, and of the functions in `on` only
// `start` is called. Error{recipe} for a fit that monitors no metric of a validation part, and for a model without
// hidden layers with a number of features; else raises as train_seeds does.
FoundModelSizes train_model_sizes(const Options& fit, const RunSettings& settings, const WithSet& with_set,
                                  const SearchContext& context);

std::string model_sizes_text(const FoundModelSizes& found);
// { kind = "plan_model", metric, goal, seeds, failed, sizes = { { factor, parameters, set, mean, error, values,
// difference, verdict, seconds }, … }, left_out, seconds }
Value to_value(const FoundModelSizes& found);

}  // namespace trainlab
