// `trainlab predict`: the engine's side.
#pragma once

#include <memory>
#include <string>

#include "core/registry.h"
#include "run/request.h"

namespace trainlab {

// Whether the model has functions of its recipe, which must then be executed.
bool needs_recipe(const Request& request);

// What goes to standard output, or nothing where a file was asked for, which is written. `stage`: the fit's spec, where
// the recipe was executed for it. Raises Error.
std::string predicted_text(const Registry& registry, const Request& request, std::shared_ptr<const Spec> stage);

}  // namespace trainlab
