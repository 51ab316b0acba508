// The part of the recipe language that is written in Lua.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "bindings/lua_state.h"

namespace trainlab {

// The files in the order in which a state runs them: those built in, or, for work on them, those of a folder. Raises
// Error{usage} when the folder lacks one.
std::vector<LuaSource> stdlib_sources(const std::optional<std::filesystem::path>& folder = std::nullopt);

}  // namespace trainlab
