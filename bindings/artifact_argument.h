// The content of a file that a recipe writes: a text, or a tensor in the format that the file's name says.
#pragma once

#include <string>

struct lua_State;

namespace trainlab {

// Error{recipe} at `method` for anything else.
std::string artifact_at(lua_State* L, int index, const std::string& name, const char* method);

}  // namespace trainlab
