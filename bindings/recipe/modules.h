// require, for the modules of a recipe.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "bindings/recipe.h"

struct lua_State;

namespace trainlab {

// The global `require`. `files` must outlive the state; `source` is told each file that was loaded.
void open_require(lua_State* L, const RecipeFiles& files,
                  const std::function<void(const std::string&, std::string_view)>& source);

}  // namespace trainlab
