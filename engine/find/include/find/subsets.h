// Trains a fit on parts of its training data, to tell whether more data would help.
#pragma once

#include <string>
#include <vector>

#include "core/random/key.h"
#include "core/registry.h"
#include "data/dataset.h"
#include "find/context.h"
#include "find/seeded_findings.h"
#include "forecast/data_curve.h"
#include "run/stage.h"

namespace trainlab {

// A share of a training part, 0 … 1: the first samples of an order that follows from the key, so that a smaller share
// is a part of a larger one. Where samples overlap, as windows of a text do, these are the first samples of the part,
// because samples from all places would together hold nearly all of the text.
Part share_of(const Part& train, double share, Key key);

struct FoundSubsets {
  SeededFindings seeded;
  std::vector<SizedResults> sizes = {};
  DataCurve curve = {};
};

// Trains a checked lab.fit on an eighth, a quarter, a half and all of its training part, with the same validation part
// and the length that the fit has: with three seeds, or, where the context limits the time, with as many as fit into
// it, 2 to 10. The eighth is left out where it has fewer samples than a step takes. Nothing is written, and of the
// functions in `on` only `start` is called. Error{recipe} for a fit that monitors no metric of a validation part, for
// samples that are drawn by weight, and for too few samples; Error{usage} where two seeds do not fit into the time;
// Error{run} where fewer than two seeds have a result.
FoundSubsets train_on_subsets(const Registry& registry, const Spec& fit, const RunSettings& settings,
                              const SearchContext& context);

std::string subsets_text(const FoundSubsets& found);
// { kind = "plan_data", metric, sizes = { { samples, mean, error, values }, … }, forecasts = { { factor, samples,
// value, low, high }, … }, unknown, … }
Value to_value(const FoundSubsets& found);

}  // namespace trainlab
