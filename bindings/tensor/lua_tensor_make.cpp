// lab.tensor: tensors from tables, and the functions that make them.
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <cmath>
#include <filesystem>
#include <lua.hpp>

#include "bindings/lua_entries.h"
#include "bindings/lua_error.h"
#include "core/pickle.h"
#include "core/printable.h"
#include "core/reader.h"
#include "tensor/names.h"
#include "tensor/npy.h"
#include "tensor/operator_errors.h"
#include "tensor/safetensors.h"
#include "tensor/types.h"
#include "tensor_binding.h"
#include "values/entry_table.h"

namespace trainlab {

namespace {

struct Making {
  std::optional<at::ScalarType> dtype;
  at::Device device = at::kCPU;
  bool requires_grad = false;
};

// Reads the named options of the table at `index`; positions are left alone.
void read_options(lua_State* L, int index, Making& making) {
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    if (lua_type(L, -2) != LUA_TSTRING) {
      lua_pop(L, 1);
      continue;
    }
    const std::string name = lua_tostring(L, -2);
    const std::string text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    if (name == "dtype") {
      making.dtype = find_dtype(text);
      if (!making.dtype)
        throw recipe_error("dtype: expected \"float32\", \"int64\", \"bool\" …, found " + type_text(L, -1));
    } else if (name == "device") {
      if (lua_type(L, -1) != LUA_TSTRING)
        throw recipe_error("device: expected \"cpu\", \"cuda\" or \"cuda:N\", found " + type_text(L, -1));
      making.device = parse_device(text);
    } else if (name == "requires_grad") {
      if (!lua_isboolean(L, -1)) throw recipe_error("requires_grad: expected true or false, found " + type_text(L, -1));
      making.requires_grad = lua_toboolean(L, -1) != 0;
    } else {
      Error error = recipe_error("there is no option '" + name + "'");
      const std::string close = Registry::closest(name, {"dtype", "device", "requires_grad"});
      throw error.hint(close.empty() ? "the options are dtype, device and requires_grad"
                                     : "did you mean '" + close + "'?");
    }
    lua_pop(L, 1);
  }
}

// Nested tables: all values, and the shape, which the first of each level decides.
class TableReader {
 public:
  explicit TableReader(lua_State* L) : L_(L) {}

  void read(int index, std::size_t depth, const std::string& path) {
    switch (lua_type(L_, index)) {
      case LUA_TNUMBER: return add(lua_tonumber(L_, index), depth, false, path);
      case LUA_TBOOLEAN: return add(lua_toboolean(L_, index), depth, true, path);
      case LUA_TTABLE: return list(index, depth, path);
      default:
        throw recipe_error(at_path(path) + "expected numbers or lists of them, found " + type_text(L_, index))
            .hint(to_tensor(L_, index) ? "lab.ops.stack { a, b } joins tensors" : "");
    }
  }

  std::vector<double> values;
  Shape shape;
  bool booleans = false;

 private:
  static std::string at_path(const std::string& path) { return path.empty() ? "" : path + ": "; }

  void add(double x, std::size_t depth, bool boolean, const std::string& path) {
    if (!complete_) {
      complete_ = true;
      booleans = boolean;
    }
    if (depth != shape.size())
      throw recipe_error(at_path(path) + "expected a list of " + std::to_string(shape[depth]) + ", found " +
                         number_text(x));
    if (boolean != booleans) throw recipe_error(at_path(path) + "numbers and booleans do not mix");
    values.push_back(x);
  }

  void list(int index, std::size_t depth, const std::string& path) {
    if (const Entry* entry = entry_of(L_, index))
      throw recipe_error(at_path(path) + "expected numbers, found " + entry->name);
    const auto n = static_cast<std::int64_t>(lua_objlen(L_, index));
    if (depth >= 64 || lua_checkstack(L_, 4) == 0) throw recipe_error("lists nested deeper than 64");
    if (!complete_ && depth == shape.size()) {
      shape.push_back(n);
      if (n == 0) complete_ = true;
    } else if (depth >= shape.size()) {
      throw recipe_error(at_path(path) + "expected a number, found a list");
    } else if (shape[depth] != n) {
      throw recipe_error(at_path(path) + "expected a list of " + std::to_string(shape[depth]) +
                         ", as the one before it, found " + std::to_string(n));
    }
    const int table = index < 0 ? lua_gettop(L_) + 1 + index : index;
    for (std::int64_t i = 1; i <= n; ++i) {
      lua_rawgeti(L_, table, static_cast<int>(i));
      read(-1, depth + 1, path + "[" + std::to_string(i) + "]");
      lua_pop(L_, 1);
    }
  }

  lua_State* L_;
  bool complete_ = false;  // the shape is known
};

at::Tensor make(const TableReader& read, const Making& making) {
  const at::ScalarType dtype = making.dtype.value_or(read.booleans ? at::kBool : at::kFloat);
  for (const double x : read.values) check_holds(dtype, x);
  const auto values =
      at::from_blob(const_cast<double*>(read.values.data()), read.shape, at::TensorOptions().dtype(at::kDouble));
  at::Tensor tensor = at::empty(read.shape, at::TensorOptions().dtype(dtype));
  tensor.copy_(values);
  tensor = tensor.to(making.device);
  if (making.requires_grad) tensor.set_requires_grad(true);
  return tensor;
}

// lab.tensor(values, { dtype = …, device = …, requires_grad = … }); the options may also stand in the outermost list.
int l_tensor(lua_State* L) {
  return guarded(L, [&] {
    lua_remove(L, 1);  // lab.tensor itself
    try {
      if (to_tensor(L, 1)) {
        throw recipe_error("expected numbers, found a tensor")
            .hint("t:clone() copies it, t:to(\"float64\") converts it");
      }
      if (lua_gettop(L) == 0) throw recipe_error("expected a number or a list, found nothing");
      if (lua_gettop(L) > 2 || (lua_gettop(L) == 2 && !lua_istable(L, 2)))
        throw recipe_error("expected one list, and options by name, found more").hint("lists nest: { {1, 2}, {3, 4} }");
      Making making;
      for (int i = 1; i <= lua_gettop(L); ++i) {
        if (lua_istable(L, i)) read_options(L, i, making);
      }
      TableReader read(L);
      read.read(1, 0, "");
      at::Tensor made;
      with_operator_errors([&] { for_recipe(L, false, [&] { made = make(read, making); }); });
      push_tensor(L, std::move(made));
      return 1;
    } catch (Error& error) {
      throw error.in("lab.tensor");
    }
  });
}

// lab.tensor.zeros(2, 3), zeros({ 2, 3 }, { dtype = … }): the operator, with an option requires_grad.
int l_factory(lua_State* L) {
  return guarded(L, [&] {
    const auto& op = *static_cast<const Operator*>(lua_touserdata(L, lua_upvalueindex(1)));
    const int count = lua_gettop(L);
    bool requires_grad = false;
    if (count > 0 && lua_istable(L, count) && !entry_of(L, count)) {
      lua_getfield(L, count, "requires_grad");
      const bool given = !lua_isnil(L, -1);
      if (given && !lua_isboolean(L, -1))
        throw recipe_error("requires_grad: expected true or false, found " + type_text(L, -1))
            .in("lab.tensor." + op.name());
      requires_grad = lua_toboolean(L, -1) != 0;
      lua_pop(L, 1);
      if (given) {  // a copy without it
        lua_newtable(L);
        lua_pushnil(L);
        while (lua_next(L, count) != 0) {
          lua_pushvalue(L, -2);
          lua_insert(L, -2);
          lua_rawset(L, -4);
        }
        lua_pushnil(L);
        lua_setfield(L, -2, "requires_grad");
        lua_replace(L, count);
        lua_pushnil(L);
        const bool empty = lua_next(L, count) == 0;
        if (empty) lua_settop(L, count - 1);
      }
    }
    call_operator(L, op, lua_gettop(L) < count ? count - 1 : count);
    if (requires_grad) {
      try {
        check_tensor(L, -1).set_requires_grad(true);
      } catch (const c10::Error& error) {
        throw torch_error(error).in("lab.tensor." + op.name());
      }
    }
    return 1;
  });
}

// lab.tensor.load(path): a table of tensors by name from a .safetensors file, one tensor from an .npy file.
int l_load(lua_State* L) {
  return guarded(L, [&] {
    if (lua_type(L, 1) != LUA_TSTRING)
      throw recipe_error("expected a path, found " + type_text(L, 1)).in("lab.tensor.load");
    const std::filesystem::path path = std::filesystem::path(LuaState::of(L).host().recipe_folder) / lua_tostring(L, 1);
    const EngineWork work(L);
    if (path.extension() == ".npy") {
      at::Tensor loaded;
      for_recipe(L, false, [&] {
        FileReader reader(path);
        loaded = load_npy(reader, path.string());
      });
      push_tensor(L, std::move(loaded));
    } else if (path.extension() == ".safetensors") {
      LoadedTensors loaded;
      for_recipe(L, false, [&] { loaded = load_safetensors(path); });
      lua_createtable(L, 0, static_cast<int>(loaded.tensors.size()));
      for (auto& [name, tensor] : loaded.tensors) {
        lua_pushlstring(L, name.data(), name.size());
        push_tensor(L, std::move(tensor));
        lua_rawset(L, -3);
      }
    } else {
      Error error = recipe_error("expected a .npy or .safetensors file, found " + path.filename().string());
      if (is_named_as_pickle(path.native())) error.hint(std::string(from_pickle));
      throw error.in("lab.tensor.load");
    }
    return 1;
  });
}

int l_missing(lua_State* L) {
  return guarded(L, [&]() -> int {
    const std::string name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
    Error error = recipe_error("lab.tensor has no '" + printable_line(name) + "'");
    if (find_operator(name)) error.hint("the operator is called lab.ops." + name);
    throw error;
  });
}

}  // namespace

void check_holds(at::ScalarType dtype, double x) {
  if (!at::isIntegralType(dtype, false)) return;
  if (std::trunc(x) != x || !std::isfinite(x))
    throw recipe_error("expected whole numbers for dtype " + dtype_name(dtype) + ", found " + number_text(x));
  const int bits = 8 * static_cast<int>(c10::elementSize(dtype)) - (at::isSignedType(dtype) ? 1 : 0);
  const double end = std::ldexp(1.0, bits), least = at::isSignedType(dtype) ? -end : 0;
  if (x < least || x >= end) {
    const std::string limits = bits < 53 ? "from " + number_text(least) + " to " + number_text(end - 1)
                                         : "of " + std::to_string(8 * c10::elementSize(dtype)) + " bits";
    throw recipe_error("expected numbers " + limits + " for dtype " + dtype_name(dtype) + ", found " + number_text(x));
  }
}

void open_tensor_constructors(lua_State* L) {
  lua_newtable(L);
  for (const char* name :
       {"zeros", "ones", "full", "eye", "arange", "linspace", "logspace", "rand", "randn", "randint", "randperm"}) {
    lua_pushlightuserdata(L, const_cast<Operator*>(find_operator(name)));
    lua_pushcclosure(L, l_factory, 1);
    lua_setfield(L, -2, name);
  }
  lua_pushcfunction(L, l_load);
  lua_setfield(L, -2, "load");
  make_namespace(L, "lab.tensor", l_missing, l_tensor);
  set_lab_member(L, "tensor");
}

}  // namespace trainlab
