// KeptTable: the table behind run.state and ctx.state. It lives with the script while the run goes on, and every
// checkpoint reads it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "journal/script_state.h"

struct lua_State;

namespace trainlab {

class KeptTable {
 public:
  // `name` for messages: "run.state".
  KeptTable(lua_State* L, const ScriptState& state, std::string name);
  ~KeptTable();
  KeptTable(const KeptTable&) = delete;

  void push(lua_State* L) const;
  ScriptState read() const;
  // The content of the table becomes that of `state`: a script may hold on to the table.
  void replace(const ScriptState& state) const;

 private:
  std::shared_ptr<lua_State*> life_;
  std::string name_;
  int reference_;
};

// The table that `reader` reads; at the first call it is made of `state`, and `reader` set to read it and to hold it.
std::shared_ptr<KeptTable> kept_table(lua_State* L, std::function<ScriptState()>& reader, const ScriptState& state,
                                      const char* name);

}  // namespace trainlab
