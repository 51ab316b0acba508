// StagePredictor: the models behind the result of a stage, as one. A fit has its model, a sweep that of its best trial,
// an ensemble those of its members, whose predictions are averaged.
#pragma once

#include <functional>

#include "predict/predictor.h"
#include "run/stored_model.h"

namespace trainlab {

struct Prediction {
  std::vector<std::string> names, warnings;  // of the inputs, as in NewInputs; an ensemble's first member's
  at::Tensor mean;                           // as Predictor::predict gives it; of several models the mean
  at::Tensor spread;                         // the standard deviation among an ensemble's members; otherwise undefined
};

// Used by one thread; a model with functions of a recipe by the recipe's thread.
class StagePredictor {
 public:
  // The arguments and errors of Predictor. `stage` is meant for the model of a fit.
  StagePredictor(const Registry& registry, const std::filesystem::path& stage_folder, at::Device device,
                 const std::shared_ptr<const Spec>& stage = nullptr, const std::optional<std::string>& name = {});

  // Describes the inputs and outputs, which all models share.
  const Predictor& first() const { return predictors_.front(); }
  // The model, where the stage has a single one. Error{usage} for the members of an ensemble.
  const Predictor& only() const;

  // The warnings of the models, one for each damaged checkpoint that does not matter for them.
  std::vector<std::string> warnings() const;

  // The mean of the models' predictions in the sense of their outputs: probabilities for a classification, values for a
  // regression. A member that an ensemble counts twice weighs twice; the standard deviation is that of the members
  // themselves (divided by their number). `inputs` gives the inputs for a model, which brings the values of its own
  // training data. Error{run} if the models' predictions differ in shape or in their classes.
  Prediction predict(const std::function<NewInputs(const Predictor&)>& inputs, std::int64_t batch) const;

 private:
  bool is_ensemble_;
  std::vector<StoredModel> models_;
  std::vector<Predictor> predictors_;
};

}  // namespace trainlab
