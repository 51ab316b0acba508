// How long it takes to evaluate a part of a fit's data.
#pragma once

#include "data/dataset.h"

namespace trainlab {

// The speeds that are known of a fit.
struct EvaluationSpeed {
  double validation = 0;  // seconds of a validation, which evaluates the whole validation part; 0: unknown
  double step = 0;        // seconds of a training step
  double samples = 0;     // of a step
};

// The seconds that the evaluation of a part of `data` will probably take: in proportion to a validation, or else to a
// training step, of which an evaluation is taken to cost half. Pure.
double evaluation_seconds(const DataParts& data, const Part& part, const EvaluationSpeed& speed);

}  // namespace trainlab
