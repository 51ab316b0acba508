// Short trainings of a fit with other options, of which nothing is written.
#pragma once

#include <functional>
#include <optional>

#include "core/registry.h"
#include "run/stage.h"
#include "train/fit.h"

namespace trainlab {

// Raised by an observer or a pass when a training has gone on long enough: an end of the fit itself would evaluate the
// parts of the data.
struct TrainingDone {};

class Trainings {
 public:
  // `fit` is a checked lab.fit. Error{recipe} for a fit with a step of its own.
  Trainings(const Registry& registry, const Spec& fit, const RunSettings& settings);

  const Value& fit() const { return fit_.value; }
  // The fit with these options in place of its own (nil: without the option), and without what watches it or ends it
  // early.
  Options changed(const Value::Map& changes) const;
  // The plan of such a fit, with the data of the first plan.
  FitPlan plan(const Options& changed);
  // Trains from new weights until the fit has ended or the company raises TrainingDone.
  void run(const FitPlan& plan, const FitCompany& company) const;

 private:
  const Registry& registry_;
  const Spec& fit_;
  const RunSettings& settings_;
  std::optional<DataParts> data_;
};

}  // namespace trainlab
