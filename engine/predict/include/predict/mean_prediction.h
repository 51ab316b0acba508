// MeanPrediction: several models for one kind of data, judged by the mean of their predictions on a part of the data.
//
// What is averaged is what the outputs mean (train/model_file.h): probabilities of a classification, values of a
// regression. Loss and metrics see the mean in the form in which the models give it: the logarithm of a mean of
// probabilities is as good as scores.
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

  // The next model with its weights (model.…); numbered from 0. Error{recipe} when they do not fit it.
  void add(const Model& model, const NamedTensors& weights);
  std::size_t size() const { return outputs_.size(); }

  // Of the mean of these models, of which one may stand there several times.
  std::map<std::string, double> metrics(std::span<const std::size_t> models) const;
  // [N, …], on the CPU: what the mean predicts for the part's samples, in order: probabilities of a classification.
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
