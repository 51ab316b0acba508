// model.json in a fit's folder: what the trained model is, or each of several, so that it can be built again without
// the recipe.
#pragma once

#include <filesystem>
#include <optional>
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
  std::string name;            // as the recipe names it; empty for the only one
  Value model;                 // the checked spec
  bool has_functions = false;  // the recipe's: they are there only where the recipe is executed
  std::vector<InputColumn> inputs;
  at::ScalarType type = at::kFloat;
  Meaning meaning = Meaning::values;
  bool classes_first = false;            // [C, positions…], not [positions…, C]
  std::int64_t classes = 0;              // of a classification
  std::vector<std::string> class_names;  // empty, or `classes` names
  bool keeps_best = false;               // weights: the best so far, where there are such, not the last

  // The class as predictions name it.
  std::string class_name(std::int64_t number) const;
};

// Whether a function of the recipe stands in a spec.
bool holds_function(const Value& spec);

// Writes what a fit trains, atomically. `fit`: its own spec, the plan may be that of another member of its group.
void write_models(const FitPlan& plan, const Options& fit, const std::filesystem::path& stage_folder);
// One of them. Error{usage} where there is none, also of that name, and where there are several and none is named;
// Error{recipe} where the file is damaged.
ModelFile read_model(const std::filesystem::path& stage_folder, const std::optional<std::string>& name = {});

}  // namespace trainlab
