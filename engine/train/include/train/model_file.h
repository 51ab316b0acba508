// model.json in a fit's folder: what the trained model is, so that it can be built again without the recipe.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/value.h"
#include "data/new_inputs.h"
#include "train/fit_plan.h"

namespace trainlab {

// What a model's outputs say.
enum class Meaning {
  values,        // as they are: a regression
  classes,       // a score for each class: softmax makes probabilities
  binary,        // one logit per sample: of class 1, the sigmoid is its probability
  probabilities  // logits of questions of yes or no: sigmoids
};

struct ModelFile {
  Value model;                 // the checked spec
  bool has_functions = false;  // the recipe's: they are there only where the recipe is executed
  std::vector<InputColumn> inputs;
  at::ScalarType type = at::kFloat;
  Meaning meaning = Meaning::values;
  bool classes_first = false;            // [C, positions…], not [positions…, C]
  std::int64_t classes = 0;              // of a classification
  std::vector<std::string> class_names;  // empty, or `classes` names
  bool keeps_best = false;               // weights: the best so far, where there are such, not the last

  // Of a plan with one model.
  explicit ModelFile(const FitPlan& plan);
  // Error{usage} where there is none, Error{recipe} where it is damaged.
  explicit ModelFile(const std::filesystem::path& stage_folder);

  // Atomic.
  void write(const std::filesystem::path& stage_folder) const;
  // The class as predictions name it.
  std::string class_name(std::int64_t number) const;
};

}  // namespace trainlab
