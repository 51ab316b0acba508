#include "opened_data.h"

#include <lua.hpp>

#include "bindings/lua_error.h"
#include "bindings/lua_object.h"
#include "bindings/marshal.h"
#include "core/known_elsewhere.h"
#include "core/printable.h"
#include "data/loader.h"
#include "lua_loop.h"
#include "sandbox/weak_table.h"
#include "tensor/names.h"
#include "values/call_arguments.h"
#include "values/entry_table.h"

namespace trainlab {

namespace {

const char kOpened = 0;  // weak table: data entry → what was opened of it

// The userdata in the weak table.
class OpenedObject final : public Object {
 public:
  explicit OpenedObject(std::shared_ptr<RecipeData> data) : opened(std::move(data)) {}
  std::string_view type_name() const override { return "data"; }
  std::shared_ptr<RecipeData> opened;
};

// part:batches(size, { … }): in order, without a context; upvalue: the entry.
int l_part_batches(lua_State* L) {
  return guarded(L, [&] {
    const auto& entry = *static_cast<const Entry*>(lua_touserdata(L, lua_upvalueindex(1)));
    const auto& part = check_object<PartObject>(L, 1, "part");
    const Registry& registry = *LuaState::of(L).host().registry;
    auto spec = std::make_shared<Spec>();
    spec->value = registry.check(CallArguments(L, entry, CallArguments::Receiver::object).map(registry));
    const Options options(registry, spec, entry.name);
    const EngineWork work(L);
    push_batches(L, part.part(), options.integer("size"), *find_dtype(options.string("dtype")));
    return 1;
  });
}

int l_part_index(lua_State* L) {
  return guarded(L, [&] {
    const auto& part = check_object<PartObject>(L, 1, "part");
    const std::string name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : type_text(L, 2);
    if (name == "size" || name == "classes") {
      const EngineWork work(L);
      const Part& opened = part.part();
      lua_pushnumber(L, static_cast<double>(name == "size" ? opened.size() : opened.data->classes));
    } else if (name == "batches") {
      lua_pushvalue(L, lua_upvalueindex(1));
    } else {
      const std::string_view here = member_otherwise("part", name);
      throw recipe_error("data." + part.name() + " has no '" + printable_line(name) + "'")
          .hint(here.empty() ? "it has size, classes and batches" : std::string(here));
    }
    return 1;
  });
}

int l_part_text(lua_State* L) {
  return guarded(L, [&] {
    const std::string text = "the " + check_object<PartObject>(L, 1, "part").name() + " part of data";
    lua_pushlstring(L, text.data(), text.size());
    return 1;
  });
}

}  // namespace

RecipeData::RecipeData(lua_State* L, int index)
    : registry_(*LuaState::of(L).host().registry),
      seed_(LuaState::of(L).host().seed),
      describes_(LuaState::of(L).host().describes) {
  auto spec = std::make_shared<Spec>(to_spec(L, index));
  spec->value = registry_.check(spec->value);
  spec_ = std::move(spec);
}

const DataParts& RecipeData::parts() {
  if (describes_) throw ExecutionEnds();
  if (!parts_) parts_ = open_data(Options(registry_, spec_, ""), {.seed = seed_});
  return *parts_;
}

const Part& PartObject::part() const {
  const DataParts& parts = data_->parts();
  if (name_ == "train") return parts.train;
  const std::optional<Part>& part = name_ == "val" ? parts.val : parts.test;
  if (!part) {
    throw recipe_error("the data has no " + name_ + " part").hint("data:split { train = 0.8, val = 0.1, test = 0.1 }");
  }
  return *part;
}

void push_part(lua_State* L, int index, const std::string& name) {
  push_from_weak_table(L, kOpened, index);
  std::shared_ptr<Object> object = to_object(L, -1);
  lua_pop(L, 1);
  if (!object) {
    object = std::make_shared<OpenedObject>(std::make_shared<RecipeData>(L, index));
    push_object(L, object);
    set_in_weak_table(L, kOpened, index);
  }
  push_object(L, std::make_shared<PartObject>(dynamic_cast<OpenedObject&>(*object).opened, name));
}

void open_data_parts(lua_State* L) {
  open_weak_table(L, kOpened);

  lua_newtable(L);
  define_object_type(L, "data");

  lua_newtable(L);
  const Entry* entry = LuaState::of(L).host().registry->find("part:batches");
  lua_pushlightuserdata(L, const_cast<Entry*>(entry));
  lua_pushcclosure(L, l_part_batches, 1);
  lua_pushcclosure(L, l_part_index, 1);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, l_part_text);
  lua_setfield(L, -2, "__tostring");
  define_object_type(L, "part");
}

}  // namespace trainlab
