// Predictions as CSV or JSON, a row or an object for each input.
#pragma once

#include <string>

#include "predict/stage_predictor.h"

namespace trainlab {

enum class PredictionFormat { csv, json };

// `predictor`: the first model that predicted. For a classification the text has the most probable class, by name if it
// has one, and the probability of each class; for a regression the values, named as the columns of the table that they
// predict; of several models also the spread of each of these numbers. Numbers are written in the shortest form that
// reads back exactly. Error{usage} for outputs of several axes as CSV.
std::string prediction_text(const Predictor& predictor, const Prediction& prediction, PredictionFormat format);

}  // namespace trainlab
