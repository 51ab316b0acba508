// Native numbers: the literals 1LL, 2ULL and 3i, with which LuaJIT makes values of its foreign function interface. Such
// a value can be added to any object as if that were an address, so no recipe may have one.
#pragma once

#include <optional>

struct lua_State;

namespace trainlab {

// The line of the first such literal in the function on top of the stack, which a text has just been compiled to, or in
// a function within that function. Empty when there is none. Throws Error{run} when this LuaJIT writes functions in
// another form than version 2.1, or memory is short.
std::optional<int> native_number_line(lua_State* L);

}  // namespace trainlab
