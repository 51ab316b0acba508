#include "lua_rng.h"

#include <lua.hpp>

#include "bindings/lua_error.h"
#include "bindings/lua_object.h"
#include "bindings/lua_state.h"
#include "data/rng_object.h"
#include "values/call_arguments.h"
#include "values/object_type.h"

namespace trainlab {

namespace {

struct Call {
  Stream& stream;
  Options options;
};

Call call_of(lua_State* L, const char* method) {
  auto& rng = check_object<RngObject>(L, 1, "rng");
  const Registry& registry = *LuaState::of(L).host().registry;
  const Entry& entry = *registry.find(method);
  auto spec = std::make_shared<Spec>();
  spec->value = registry.check(CallArguments(L, entry, CallArguments::Receiver::object).map(registry), method);
  return {rng.stream, Options(registry, std::move(spec), method)};
}

int l_uniform(lua_State* L) {
  return guarded(L, [&] {
    const auto [stream, options] = call_of(L, "rng:uniform");
    const double low = options.number("low"), high = options.number("high");
    if (!(low <= high)) {
      throw recipe_error("expected low ≤ high, found " + number_text(low) + " and " + number_text(high))
          .in("rng:uniform");
    }
    lua_pushnumber(L, low + (high - low) * stream.uniform());
    return 1;
  });
}

int l_normal(lua_State* L) {
  return guarded(L, [&] {
    const auto [stream, options] = call_of(L, "rng:normal");
    lua_pushnumber(L, options.number("mean") + options.number("std") * stream.normal());
    return 1;
  });
}

int l_integer(lua_State* L) {
  return guarded(L, [&] {
    const auto [stream, options] = call_of(L, "rng:integer");
    const std::int64_t low = options.integer("low"), high = options.integer("high");
    if (low > high) {
      throw recipe_error("expected low ≤ high, found " + std::to_string(low) + " and " + std::to_string(high))
          .in("rng:integer");
    }
    const auto span = static_cast<std::uint64_t>(high - low) + 1;
    lua_pushnumber(L, static_cast<double>(low + static_cast<std::int64_t>(stream.below(span))));
    return 1;
  });
}

int l_seed(lua_State* L) {
  return guarded(L, [&] {
    const Call call = call_of(L, "rng:seed");
    lua_pushnumber(L, static_cast<double>(seed_from(Key(call.stream.next_u64()))));
    return 1;
  });
}

}  // namespace

void open_rng(lua_State* L) {
  define(L, ObjectType{
                .name = "rng",
                .methods = {{"uniform", l_uniform}, {"normal", l_normal}, {"integer", l_integer}, {"seed", l_seed}}});
}

}  // namespace trainlab
