// `trainlab plan RECIPE.lua`: an engine measures steps of the recipe's first stage, and the plan follows from them.
#pragma once

#include "cli/arguments.h"

namespace trainlab::cli {

bool plans_recipe(const Arguments& given);
// Raises Error{usage} for flags that mean nothing to a recipe.
void check_recipe_plan(const Arguments& given);
// Gives the exit code.
int plan_recipe(const Arguments& given);

}  // namespace trainlab::cli
