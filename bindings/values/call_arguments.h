// The arguments of a constructor or function of `lab`: F(a, b, { opt = v }) and F { a, b, opt = v } are the same.
#pragma once

#include <string>
#include <vector>

#include "core/registry.h"

struct lua_State;

namespace trainlab {

struct LuaHost;

// The way to what a recipe wants that calls an entry as PyTorch's functions and modules are called; empty for a kind of
// entries that is nowhere called.
std::string instead_of_call(const Entry& entry);

class CallArguments {
 public:
  // The value before the colon of a method: the option `source` of the entry that a chained method makes; other methods
  // (run:stop) do not declare the receiver.
  enum class Receiver { none, option, object };
  // Reads the arguments of the present call in L. Raises Error.
  CallArguments(lua_State* L, const Entry& entry, Receiver receiver);

  // The map of the entry's options, not checked yet; functions among the options are added to `functions` if it is
  // given.
  Value::Map map(const Registry& registry, std::vector<std::shared_ptr<Callable>>* functions = nullptr) const;

  // Pushes a table with the options by name, and the elements of an array option as array part.
  void push_table() const;

 private:
  // A value on the stack (table = 0), or at a position of a table.
  struct Slot {
    int table;
    int index;
  };
  void push(Slot slot) const;
  void take_table(int table);

  lua_State* L_;
  const Entry& entry_;
  std::vector<Slot> positional_;
  int named_ = 0;  // stack index of the table with the named options; 0: none
};

// Paths in the options of an entry, made absolute below the recipe's folder. A part "latest" becomes the run's folder
// that the host gives (run/latest.h); Error{recipe} where no run has ended. `place`: the entry, for messages.
void resolve_paths(const std::vector<Option>& options, Value::Map& map, const LuaHost& host, const std::string& place);

}  // namespace trainlab
