// Reading: samples of one step's layers, weights and gradients, and of the step after it. The samples are on the device
// until the figures are computed, which may be much later.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "health/figures.h"
#include "model/layer.h"

namespace trainlab {

struct UnitSample {
  at::Tensor values = {};  // [rows, units]; undefined: not read
  Nonlinearity nonlinearity = Nonlinearity::none;
};

struct Reading {
  std::int64_t step = 0;
  double rate = unmeasured;

  at::Tensor input = {}, output = {};    // model's input, sampled; model's output [samples, classes], or undefined
  std::vector<UnitSample> units = {};    // in the order of HealthFigures::units
  std::vector<at::Tensor> weights = {};  // in the order of parameters; undefined where there is no gradient
  std::vector<at::Tensor> gradients = {}, next_weights = {}, next_gradients = {};
  // StepFacts::found_inf of the step and of the step after it, where only the device knows whether it leaves them out.
  std::vector<at::Tensor> found_inf = {};

  // Whether one of both steps was left out. Waits for the device.
  bool is_lost() const;
};

// Facts about a parameter of the model. Lists have the order of the gradients.
struct ParameterFacts {
  std::int64_t values = 0;
  bool is_matrix = false;  // whether the parameter has two axes or more
};

// Computes the figures of readings, which come in the order of their steps, and adds them to the figures of the fit.
class ReadingFigures {
 public:
  // `follows_gradients`: whether the gradients of matrices can be compared (see MeasuredStep::least_gradient).
  ReadingFigures(std::vector<ParameterFacts> parameters, bool follows_gradients)
      : parameters_(std::move(parameters)), follows_gradients_(follows_gradients) {}

  // Adds the figures of a reading. Waits for the device if the samples are not computed yet.
  void add(const Reading& reading, HealthFigures& figures);

 private:
  // The largest value of each unit of a layer in the batches since the window was opened, 0 where none was above 0.
  struct Window {
    std::vector<float> largest;
    std::int64_t rows = 0;
  };
  void add_units(const Reading& reading, HealthFigures& figures);
  // `began_at_0`: as in HealthFigures.
  void add_weights(const Reading& reading, std::set<std::size_t>& began_at_0, MeasuredStep& row);

  std::vector<ParameterFacts> parameters_;
  bool follows_gradients_;
  std::map<std::size_t, Window> windows_;  // by the layer's place in HealthFigures::units
};

}  // namespace trainlab
