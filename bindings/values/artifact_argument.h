// The arguments of methods that write or log something under a name: the name, a value, the content of a file.
#pragma once

#include <string>

#include "journal/artifact.h"
#include "journal/logged.h"

struct lua_State;

namespace trainlab {

// A name that fits into a line of text (is_name). Error{recipe} at `method` for anything else.
std::string name_at(lua_State* L, int index, const char* method);

// A number or a tensor; whether the tensor has one element is seen by who takes the value. Error{recipe} at
// `method`.value for anything else.
Logged logged_at(lua_State* L, int index, const char* method);

// A text, a tensor in the format that the file's name says, or a table of tensors by name. Error{recipe} at `method`
// for anything else.
Artifact artifact_at(lua_State* L, int index, const std::string& name, const char* method);

}  // namespace trainlab
