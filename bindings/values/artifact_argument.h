// The content of a file that a recipe writes: a text, a tensor in the format that the file's name says, or a table of
// tensors by name.
#pragma once

#include <string>

#include "journal/artifact.h"

struct lua_State;

namespace trainlab {

// Error{recipe} at `method` for anything else.
Artifact artifact_at(lua_State* L, int index, const std::string& name, const char* method);

}  // namespace trainlab
