#include "namespaces.h"

#include <algorithm>
#include <lua.hpp>

#include "bindings/lua_entries.h"
#include "bindings/lua_error.h"
#include "bindings/lua_state.h"
#include "core/known_elsewhere.h"
#include "core/printable.h"
#include "core/registry.h"
#include "core/words.h"
#include "entry_table.h"

namespace trainlab {

namespace {

// The entries that a recipe can name in a namespace.
std::vector<const Entry*> named_entries(lua_State* L) {
  std::vector<const Entry*> all = LuaState::of(L).host().registry->entries();
  std::erase_if(all, [](const Entry* entry) { return entry->kind == "method" || entry->kind == "field"; });
  return all;
}

std::vector<std::string> names_of_entries(lua_State* L) {
  std::vector<std::string> names;
  for (const Entry* entry : named_entries(L)) names.push_back(entry->name.substr(entry->name.rfind('.') + 1));
  return names;
}

// Upvalues: the table of members, the name.
int l_member(lua_State* L) {
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(1));
  if (!lua_isnil(L, -1)) {
    note_lookup(L);
    return 1;
  }
  return guarded(L, [&]() -> int {
    const std::string space = lua_tostring(L, lua_upvalueindex(2));
    if (lua_type(L, 2) != LUA_TSTRING) throw recipe_error(space + " is read by name: " + space + ".name");
    const std::string wanted = lua_tostring(L, 2);
    const std::string message = space + " has no '" + printable_line(wanted) + "'";
    if (const std::string& version = LuaState::of(L).host().begun_by; !version.empty()) {
      throw recipe_error(message).hint(
          "a run goes on with the recipe with which it was begun: finish the run with the "
          "trainlab that began it (version " +
          version + "), or begin a new run");
    }
    const std::vector<std::string> names = names_in(L, lua_upvalueindex(1));
    const bool is_known = !called_here(wanted, names).empty();
    std::string_view here = member_otherwise(wanted);
    if (here.empty()) here = member_otherwise(space, wanted);
    if (!is_known && !here.empty()) throw recipe_error(message).hint(std::string(here));
    if (const std::string elsewhere = names_elsewhere(L, wanted); !is_known && !elsewhere.empty())
      throw recipe_error(message).hint("did you mean " + elsewhere + "?");
    if (Registry::closest(wanted, names).empty()) {
      // PyTorch's losses are among its layers, and its early stopping is a callback.
      const std::string meant = Registry::closest(wanted, names_of_entries(L));
      if (!meant.empty()) throw recipe_error(message).hint("did you mean " + names_elsewhere(L, meant) + "?");
    }
    throw no_member(message, wanted, names, space + ".%");
  });
}

int l_read_only(lua_State* L) {
  return guarded(L, [&]() -> int {
    throw recipe_error(std::string(lua_tostring(L, lua_upvalueindex(1))) + " cannot be changed");
  });
}

int l_namespace_name(lua_State* L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  return 1;
}

const char kMembers[] = "trainlab.lab";

}  // namespace

std::string names_elsewhere(lua_State* L, const std::string& wanted) {
  std::string all;
  for (const Entry* entry : named_entries(L)) {
    if (entry->name != wanted && !entry->name.ends_with("." + wanted)) continue;
    all += (all.empty() ? "lab." : " or lab.") + entry->name;
  }
  return all;
}

bool is_lab_member(lua_State* L, const std::string& name) {
  lua_getfield(L, LUA_REGISTRYINDEX, kMembers);
  lua_pushlstring(L, name.data(), name.size());
  const bool has_lab = lua_istable(L, -2);
  if (has_lab) lua_rawget(L, -2);
  const bool is_member = has_lab && !lua_isnil(L, -1);
  lua_pop(L, 2);
  return is_member;
}

std::vector<std::string> names_in(lua_State* L, int table) {
  std::vector<std::string> names;
  lua_pushnil(L);
  while (lua_next(L, table) != 0) {
    lua_pop(L, 1);
    names.emplace_back(lua_tostring(L, -1));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Error no_member(const std::string& message, const std::string& wanted, const std::vector<std::string>& names,
                std::string form) {
  const std::string close = Registry::closest(wanted, names);
  Error error = recipe_error(message);
  if (close.empty()) return error.hint("it has " + joined(names));
  return error.hint("did you mean " + form.replace(form.find('%'), 1, close) + "?");
}

void NamespaceTree::add(const std::string& name, std::function<void(lua_State*)> push) {
  const auto dot = name.find('.');
  if (dot == std::string::npos) {
    members_.emplace(name, std::move(push));
  } else {
    parts_[name.substr(0, dot)].add(name.substr(dot + 1), std::move(push));
  }
}

void NamespaceTree::push(lua_State* L, const std::string& name) const {
  lua_newuserdata(L, 0);
  lua_newtable(L);  // the metatable
  lua_newtable(L);  // the members
  for (const auto& [key, push_member] : members_) {
    push_member(L);
    lua_setfield(L, -2, key.c_str());
  }
  for (const auto& [key, part] : parts_) {
    part.push(L, name + "." + key);
    lua_setfield(L, -2, key.c_str());
  }
  if (name == "lab") {
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, kMembers);
  }
  lua_pushlstring(L, name.data(), name.size());
  lua_pushcclosure(L, l_member, 2);
  lua_setfield(L, -2, "__index");
  for (const auto& [key, function] : std::initializer_list<std::pair<const char*, lua_CFunction>>{
           {"__newindex", l_read_only}, {"__tostring", l_namespace_name}}) {
    lua_pushlstring(L, name.data(), name.size());
    lua_pushcclosure(L, function, 1);
    lua_setfield(L, -2, key);
  }
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_setmetatable(L, -2);
}

void set_lab_member(lua_State* L, const char* name) {
  lua_getfield(L, LUA_REGISTRYINDEX, kMembers);
  lua_insert(L, -2);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}

}  // namespace trainlab
