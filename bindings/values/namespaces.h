// `lab` and its parts: read-only objects whose missing members are errors with a hint.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"

struct lua_State;

namespace trainlab {

// Entries of this very name in any namespace: "lab.pruner.asha or lab.scheduler.asha"; empty: none.
std::string names_elsewhere(lua_State* L, const std::string& wanted);

// Whether there is lab.NAME: an entry, a function or a part such as lab.optim.
bool is_lab_member(lua_State* L, const std::string& name);

// The string keys of the Lua table at an absolute index, or an upvalue's, in order.
std::vector<std::string> names_in(lua_State* L, int table);

// The error for a member that is not among `names`. `form`: how a near name is proposed, '%' standing for it.
Error no_member(const std::string& message, const std::string& wanted, const std::vector<std::string>& names,
                std::string form);

class NamespaceTree {
 public:
  // A member by its dotted name; `push` leaves its value on the stack.
  void add(const std::string& name, std::function<void(lua_State*)> push);

  // Pushes the object. Its members can still be added by name: add_member.
  void push(lua_State* L, const std::string& name) const;

 private:
  std::map<std::string, std::function<void(lua_State*)>> members_;
  std::map<std::string, NamespaceTree> parts_;
};

}  // namespace trainlab
