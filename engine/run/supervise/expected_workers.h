// How many engines a run will probably want, guessed before any of them has executed the recipe.
#pragma once

#include <string_view>

#include "run/request.h"

namespace trainlab {

// The option --workers, or else the largest number that the recipe's text gives to an option `workers`; at most the
// usable cores, and 1 where nothing tells. What the recipe does is not looked at: a comment counts too. Raises nothing:
// a recipe that cannot be read is the engine's to tell.
int expected_workers(const Request& request) noexcept;

// The part that looks at a text.
int workers_in(std::string_view recipe);

}  // namespace trainlab
