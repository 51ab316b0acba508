// `trainlab plan RECIPE.lua`: an engine measures steps of the recipe's first stage, and the plan follows from them.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"

namespace trainlab::cli {

bool plans_recipe(const std::vector<std::string>& words);
// The names of the flags of `plan` that mean something with a recipe.
std::vector<std::string> recipe_plan_flags();
// Raises Error{usage} for flags that have no meaning with a recipe.
void check_recipe_plan(const Arguments& given);
// Plans the recipe, and returns the exit code.
int plan_recipe(const Arguments& given);

}  // namespace trainlab::cli
