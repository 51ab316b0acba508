#include "lua_recompute.h"

#include <lua.hpp>

#include "bindings/lua_entries.h"
#include "bindings/lua_error.h"
#include "bindings/marshal.h"
#include "core/function_error.h"
#include "model/recompute.h"
#include "sandbox/underway.h"
#include "tensor/device.h"
#include "tensor/lua_tensor.h"
#include "tensor/tensor_object.h"
#include "values/entry_table.h"

namespace trainlab {

namespace {

int l_recompute(lua_State* L) {
  return guarded(L, [&] {
    const char* const name = "lab.recompute";
    const char* const how = "write lab.recompute(function(x) … end, x)";
    if (!lua_isfunction(L, 1)) {
      throw recipe_error("expected a function and a tensor, found " + type_text(L, 1)).in(name).hint(how);
    }
    const at::Tensor* const x = to_tensor(L, 2);
    if (!x || lua_gettop(L) > 2) {
      const std::string found = lua_gettop(L) > 2 ? number_text(lua_gettop(L) - 1) + " values" : type_text(L, 2);
      throw recipe_error("expected one tensor for the function, found " + found)
          .in(name)
          .hint("the function may use other tensors from around it");
    }
    if (!device_at(x->device()).is_synchronous()) {
      throw recipe_error("functions are computed again on the CPU only, found a tensor on " + x->device().str())
          .in(name);
    }
    const std::shared_ptr<Callable> function = to_callable(L, 1);
    // Drawn once, so that the second call has the random numbers of the first.
    const Key key(LuaState::of(L).random().next_u64());
    const auto once = [function, key](const at::Tensor& input) {
      function->rekey(key);
      const std::vector<Argument> results = function->call({{std::make_shared<TensorObject>(input)}});
      const TensorObject* const tensor = results.empty() ? nullptr : tensor_in(results.front());
      if (!tensor || results.size() > 1) throw function_error(*function, "expected the function to return one tensor");
      return tensor->tensor;
    };
    const std::string before = function->text();
    at::Tensor y;
    {
      const EngineWork work(L);
      const Underway underway(L, name);
      y = with_torch_errors([&] { return computed_again(name, function->where(), once, *x); });
    }
    if (function->text() != before) {
      throw function_error(*function, "changes a value that it uses: a second call would change it again").in(name);
    }
    push_tensor(L, y);
    return 1;
  });
}

}  // namespace

void open_recompute(lua_State* L) {
  lua_pushcfunction(L, l_recompute);
  set_lab_member(L, "recompute");
}

}  // namespace trainlab
