// Recipe: a recipe file, executed.
//
// Recipe brings together the state, the constructors, lab.param, lab.run and require. Modules are files in the recipe's
// folder or below, named from there: require "models.cnn" is models/cnn.lua.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bindings/lua_state.h"
#include "bindings/parameters.h"
#include "bindings/stage_result.h"

namespace trainlab {

struct RecipeFiles {
  std::filesystem::path file;                  // the recipe, absolute
  std::vector<std::filesystem::path> folders;  // where modules are looked for, first to last; absolute
  std::string shown;                           // the recipe's name in messages: "recipes/digits.lua"
};

class Recipe {
 public:
  struct Calls {
    // Implements lab.run: returns the result. May raise ExecutionEnds.
    std::function<StageResult(const std::shared_ptr<const Spec>&)> run;
    // Called with each loaded file and its path relative to the recipe's folder; the recipe comes first.
    std::function<void(const std::string& path, std::string_view text)> source;
    // lab.budget, with its checked options. May be null, then nobody keeps a budget.
    std::function<void(const Value& options)> budget = {};
  };

  Recipe(LuaHost host, RecipeFiles files, Parameters& parameters, Calls calls);
  ~Recipe();
  Recipe(const Recipe&) = delete;

  struct Outcome {
    std::shared_ptr<const Spec> stage;  // what the recipe returned, checked; null: nil
    bool ended = false;                 // lab.run ended the execution
  };
  // Raises Error. Once.
  Outcome execute();

  // Frees what the recipe and its functions have left behind for Lua to collect. Returns the bytes that Lua's heap then
  // holds; the memory of tensors is not among them.
  std::int64_t collect_garbage();

  LuaState& state() { return state_; }
  const LuaState& state() const { return state_; }
  const std::string& text() const { return text_; }

 private:
  friend int l_lab_run(lua_State* L);
  friend int l_lab_param(lua_State* L);
  friend int l_lab_budget(lua_State* L);
  void open(lua_State* L);

  RecipeFiles files_;
  Parameters& parameters_;
  Calls calls_;
  std::string text_;
  LuaState state_;  // declared last: the objects that it calls must outlive it
};

}  // namespace trainlab
