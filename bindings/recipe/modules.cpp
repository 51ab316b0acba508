#include "modules.h"

#include <algorithm>
#include <lua.hpp>
#include <map>
#include <optional>

#include "bindings/lua_error.h"
#include "core/files.h"
#include "sandbox/other_languages.h"

namespace trainlab {

namespace {

namespace fs = std::filesystem;

// The data of require, which lives in the state as userdata.
struct ModuleLoader {
  const RecipeFiles* files;
  std::function<void(const std::string&, std::string_view)> source;
  std::vector<std::string> open;  // modules that are being executed, or failed
};

// "models.cnn" → models/cnn.lua; anything that could lead out of the folder is no name.
fs::path relative_path(const std::string& name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  };
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), allowed) && name.front() != '.' &&
                     name.back() != '.' && name.find("..") == std::string::npos;
  if (!plain) {
    throw recipe_error("expected a module's name, found \"" + name + "\"")
        .in("require")
        .hint("modules lie beside the recipe: require \"models.cnn\" is models/cnn.lua");
  }
  std::string path = name;
  std::replace(path.begin(), path.end(), '.', '/');
  return path + ".lua";
}

// The file in a folder, if it is there and, links resolved, still inside.
std::optional<fs::path> find_in(const fs::path& folder, const fs::path& relative) {
  std::error_code failed;
  const fs::path root = fs::canonical(folder, failed);
  if (failed) return std::nullopt;
  const fs::path file = fs::canonical(root / relative, failed);
  if (failed || !fs::is_regular_file(file, failed)) return std::nullopt;
  const auto [end, ignored] = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
  if (end != root.end()) {
    throw recipe_error((folder / relative).lexically_normal().string() + " leads out of the recipe's folder, to " +
                       file.string())
        .in("require");
  }
  return file;
}

// Pushes the function that the module's text compiles to.
void load_module(lua_State* L, ModuleLoader& loader, const std::string& name) {
  if (std::find(loader.open.begin(), loader.open.end(), name) != loader.open.end()) {
    throw recipe_error("module \"" + name +
                       "\" is being loaded already (modules that require each other), or failed before")
        .in("require");
  }
  const fs::path relative = relative_path(name);
  std::string searched;
  for (const fs::path& folder : loader.files->folders) {
    const std::optional<fs::path> file = find_in(folder, relative);
    if (!file) {
      const std::string place = (folder / relative).lexically_normal().string();
      if (searched.find(place) == std::string::npos) searched += (searched.empty() ? "" : ", ") + place;
      continue;
    }
    const std::string text = read_file(*file, std::int64_t{16} << 20);
    if (loader.source) loader.source(relative.generic_string(), text);
    const fs::path shown = (fs::path(loader.files->shown).parent_path() / relative).lexically_normal();
    LuaState::of(L).load(L, text, shown.generic_string());
    loader.open.push_back(name);
    return;
  }
  const std::string_view here = module_elsewhere(name);
  throw recipe_error("module \"" + name + "\" is not there")
      .in("require")
      .hint(here.empty() ? "searched: " + searched : std::string(here));
}

// Upvalues: the loader, the table of loaded modules.
int l_require(lua_State* L) {
  std::size_t length = 0;
  const char* text = luaL_checklstring(L, 1, &length);
  lua_settop(L, 1);
  lua_pushvalue(L, 1);
  lua_rawget(L, lua_upvalueindex(2));
  if (!lua_isnil(L, -1)) return 1;
  lua_pop(L, 1);
  auto* loader = static_cast<ModuleLoader*>(lua_touserdata(L, lua_upvalueindex(1)));
  guarded(L, [&] {
    load_module(L, *loader, std::string(text, length));
    return 0;
  });
  lua_call(L, 0, 1);
  return guarded(L, [&] {
    const std::string name(text, length);
    if (lua_isnil(L, -1)) {
      throw recipe_error("module \"" + name + "\" returned nothing")
          .in("require")
          .hint("a module ends with: return { … }");
    }
    std::erase(loader->open, name);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, -2);
    lua_rawset(L, lua_upvalueindex(2));
    return 1;
  });
}

int l_release(lua_State* L) {
  static_cast<ModuleLoader*>(lua_touserdata(L, 1))->~ModuleLoader();
  return 0;
}

}  // namespace

void open_require(lua_State* L, const RecipeFiles& files,
                  const std::function<void(const std::string&, std::string_view)>& source) {
  new (lua_newuserdata(L, sizeof(ModuleLoader))) ModuleLoader{&files, source, {}};
  lua_newtable(L);
  lua_pushcfunction(L, l_release);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_newtable(L);
  lua_pushcclosure(L, l_require, 2);
  lua_pushliteral(L, "require");
  lua_insert(L, -2);
  lua_rawset(L, LUA_GLOBALSINDEX);
}

}  // namespace trainlab
