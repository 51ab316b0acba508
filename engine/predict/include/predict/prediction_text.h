// Predictions as CSV or JSON, a row or an object for each input.
#pragma once

#include <string>

#include "predict/predictor.h"

namespace trainlab {

enum class PredictionFormat { csv, json };

// `out`: of Predictor::predict. Of a classification the most probable class, by name where it has one, and the
// probability of each; else the values, named as the columns of the table that they stand for. Numbers are the shortest
// that read back as the same. Error{usage} for outputs of several axes as CSV, which has no room for them.
std::string prediction_text(const Predictor& predictor, const NewInputs& inputs, const at::Tensor& out,
                            PredictionFormat format);

}  // namespace trainlab
