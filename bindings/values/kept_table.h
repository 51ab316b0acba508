// KeptTable: the table behind run.state and ctx.state. The table lives with the script during the run, and every
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
  // Fills the same table with the content of `state`, because a script may hold on to the table.
  void replace(const ScriptState& state) const;

 private:
  std::shared_ptr<lua_State*> life_;
  std::string name_;
  int reference_;
};

// The table that `reader` reads. The first call makes the table from `state` and sets `reader`, which then reads and
// holds the table.
std::shared_ptr<KeptTable> kept_table(lua_State* L, std::function<ScriptState()>& reader, const ScriptState& state,
                                      const char* name);

}  // namespace trainlab
