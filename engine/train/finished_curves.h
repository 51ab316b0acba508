// The finished learning curves of a fit: each run keeps the curve of a fit that has reached its length, or that a rule
// of the recipe has ended, in curve.json of the stage's folder, and later runs of the same recipe and schedule forecast
// by the curves that lie beside them. Where none of these has the same data, those count that differ by their data
// alone: of a training that is repeated each day, each day's data are others. Private to the module.
#pragma once

#include <string>
#include <vector>

#include "forecast/forecast.h"
#include "run/stage.h"
#include "train/fit_plan.h"

namespace trainlab {

class FinishedCurves {
 public:
  // Only a fit that a recipe runs by itself keeps its curve and finds others.
  FinishedCurves(const FitPlan& plan, const Options& fit, const StageContext& context);

  // The curves of the newest runs beside this one, in no order: of the same data, or where there are none, of other
  // data and a similar length. What cannot be read is left out.
  std::vector<FinishedCurve> found() const;
  // Not where the options changed on the way, by a fix that went back to a checkpoint or by a mended recipe: the curve
  // is then that of no fit.
  void keep(const LearningCurve& curve) const;

 private:
  // Whether the file of a curve is that of a fit which differs by its data alone, and has a similar length.
  bool differs_by_data(const Value& stored) const;

  const FitPlan& plan_;
  const StageContext& context_;
  // Equal for fits of the same recipe and schedule, whatever their seeds; empty where no curve is kept.
  std::string key_;
  std::string key_without_data_;  // equal for those, and for those that differ by their data alone
};

}  // namespace trainlab
