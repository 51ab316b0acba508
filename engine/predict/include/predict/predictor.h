// Predictor: the trained model in a fit's folder, for new inputs. It reads model.json, the weights that the fit kept
// and the data's values in its checkpoint; it writes nothing.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/registry.h"
#include "data/new_inputs.h"
#include "data/tokenizer.h"
#include "objects/model_object.h"
#include "train/model_file.h"

namespace trainlab {

// Used by one thread; a model with functions of a recipe by the recipe's thread.
class Predictor {
 public:
  // Takes the weights of read_kept. `stage`: the fit's spec as the recipe gives it, for a model with functions. `name`:
  // the name of one of several models. Error{usage} if there are no weights, if functions are needed and missing, or if
  // there is no model of this name; Error{run} for damaged files.
  Predictor(const Registry& registry, const std::filesystem::path& stage_folder, at::Device device,
            std::shared_ptr<const Spec> stage = nullptr, const std::optional<std::string>& name = {});

  const ModelFile& file() const { return file_; }
  // KeptWeights::warning.
  const std::string& warning() const { return warning_; }
  // DataParts::state of the training data.
  const NamedTensors& data() const { return data_; }
  const Model& model() const { return *model_; }

  // A model with a copy of the weights, in evaluation mode.
  std::shared_ptr<ModelObject> model_object() const;

  // The model's outputs for a batch [B, …] of each of file().inputs, normalised; on the model's device, without
  // gradients.
  at::Tensor forward(std::span<const at::Tensor> columns) const;
  // Predictions for all inputs, in order, on the CPU: [N, …] as the model gives them; probabilities for a
  // classification ([N, 2] for a single logit). `batch`: number of samples at a time. Error{recipe} naming where inputs
  // are from whose sizes the layers do not take.
  at::Tensor predict(const NewInputs& inputs, std::int64_t batch) const;

  // A language model: tokens [T] in, scores [T, vocabulary] out.
  bool is_language_model() const;

 private:
  void check_sizes(const NewInputs& inputs) const;
  at::Tensor as_told(const at::Tensor& out) const;

  ModelFile file_;
  at::Device device_;
  NamedTensors data_;
  std::string warning_;
  std::shared_ptr<const Model> model_;
  ModelState state_;
};

}  // namespace trainlab
