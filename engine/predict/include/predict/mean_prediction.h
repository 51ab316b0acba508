// MeanPrediction: several models for one kind of data, judged by the mean of their predictions on a part of the data.
//
// The predictions are averaged (train/model_file.h): probabilities for a classification, values for a regression. Loss
// and metrics get the mean in the form of the models' outputs: the logarithm of a mean of probabilities serves as
// scores.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "train/fit_plan.h"
#include "train/model_file.h"

namespace trainlab {

class MeanPrediction {
 public:
  // Metrics are named `prefix` + ".loss", … Keeps the outputs of all models for the part in memory.
  MeanPrediction(const FitPlan& plan, const Part& part, std::string prefix, const ModelFile& outputs);

  // Adds the next model with its weights (model.…); models are numbered from 0. Error{recipe} if the weights do not fit
  // the model.
  void add(const Model& model, const NamedTensors& weights);
  std::size_t size() const { return outputs_.size(); }

  // Metrics of the mean of these models; a model may be listed several times.
  std::map<std::string, double> metrics(std::span<const std::size_t> models) const;
  // [N, …], on the CPU: the mean prediction for the part's samples, in order; probabilities for a classification.
  at::Tensor predictions(std::span<const std::size_t> models) const;

 private:
  at::Tensor mean(std::span<const std::size_t> models, std::size_t batch) const;

  const FitPlan& plan_;
  const Part& part_;
  std::string prefix_;
  Meaning meaning_;
  bool classes_first_;
  std::vector<std::vector<at::Tensor>> outputs_;  // [model][batch]
};

}  // namespace trainlab
