// model.json in a fit's folder: descriptions of the trained models, from which a model can be built again without the
// recipe.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/value.h"
#include "data/new_inputs.h"
#include "train/fit_plan.h"

namespace trainlab {

// The meaning of a model's outputs.
enum class Meaning {
  values,        // the outputs are the predictions: a regression
  classes,       // a score for each class: softmax makes probabilities
  binary,        // one logit per sample: its sigmoid is the probability of class 1
  probabilities  // each output is a logit: its sigmoid is a probability
};

struct ModelFile {
  std::string name;            // the name in the recipe; empty for a single model
  Value model;                 // the checked spec
  bool has_functions = false;  // functions of the recipe, which exist only where the recipe is executed
  std::vector<InputColumn> inputs;
  at::ScalarType type = at::kFloat;  // of the weights
  LayerPrecision precision;
  Meaning meaning = Meaning::values;
  bool classes_first = false;            // [C, positions…], not [positions…, C]
  std::int64_t classes = 0;              // of a classification
  std::vector<std::string> class_names;  // empty, or `classes` names
  bool keeps_best = false;               // the fit keeps its best weights, not the last

  // The name of a class in predictions.
  std::string class_name(std::int64_t number) const;
};

// Whether a function of the recipe stands in a spec.
bool holds_function(const Value& spec);

// Writes the description of a fit's models, atomically, and the hashes of the data on which the fit begins or goes on.
// `fit` is the spec of this fit; the plan may be that of another member of its group.
void write_models(const FitPlan& plan, const Options& fit, const std::filesystem::path& stage_folder);
// The hashes of the data (data/data_hashes.h) that write_models() has written last; nil where it has written none.
Value hashes_at_begin(const std::filesystem::path& stage_folder);
// Reads the description of one model. Error{usage} if there is no model, or none of this name, or if there are several
// models and no name is given; Error{recipe} if the file is damaged.
ModelFile read_model(const std::filesystem::path& stage_folder, const std::optional<std::string>& name = {});

}  // namespace trainlab
