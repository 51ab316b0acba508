// ObjectType: the members of a kind of object in one table: methods, fields that are read, fields that are set.
#pragma once

#include <string>
#include <vector>

struct lua_State;

namespace trainlab {

// A method is found without a call into native code. An unknown member is an error that lists the known names.
struct ObjectType {
  using Function = int (*)(lua_State*);
  struct Member {
    const char* name;
    Function function;
  };
  const char* name;
  std::vector<Member> methods = {};  // object:method(…)
  std::vector<Member> get = {};      // called with the object at 1; may raise Error; pushes one value
  std::vector<Member> set = {};      // called with the object at 1 and the value at 3; may raise Error
  Function text = nullptr;           // __tostring
  Function length = nullptr;         // __len
};

// For a method without arguments: raises an error if the call has some, which would else be passed over silently.
// `hint`: how recipes do what such an argument does elsewhere.
void refuse_arguments(lua_State* L, const char* method, const char* hint = "");

// Inside enter(), once for each type.
void define(lua_State* L, const ObjectType& type);

}  // namespace trainlab
