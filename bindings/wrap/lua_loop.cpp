#include "lua_loop.h"

#include <lua.hpp>

#include "bindings/lua_error.h"
#include "bindings/lua_object.h"
#include "data/loader.h"
#include "tensor/device.h"
#include "tensor/lua_tensor.h"

namespace trainlab {

namespace {

class PlainLoop final : public Object {
 public:
  PlainLoop(const Part& part, std::int64_t size, at::ScalarType float_type, at::Device device)
      : data_(part.data),
        device_(device),
        loader_(part, {.batch = size, .shuffle = false, .float_type = float_type, .device = device}, {Key(0)}, false),
        left_(loader_.batches_per_epoch()) {}
  std::string_view type_name() const override { return "batches"; }

  std::shared_ptr<BatchObject> next() {
    if (left_ == 0) return nullptr;
    --left_;
    Batch batch = loader_.next();
    device_at(device_).take(batch.columns);
    return batch_object(*data_, std::move(batch));
  }

 private:
  std::shared_ptr<const Dataset> data_;
  at::Device device_;
  Loader loader_;
  std::int64_t left_;
};

// Upvalue: the loop.
int l_next_batch(lua_State* L) {
  return guarded(L, [&] {
    auto& loop = check_object<PlainLoop>(L, lua_upvalueindex(1), "batches");
    std::shared_ptr<BatchObject> batch;
    {
      const EngineWork work(L);
      batch = loop.next();
    }
    push_object(L, batch);
    return 1;
  });
}

int l_next_step(lua_State* L) {
  return guarded(L, [&] {
    auto& loop = check_object<TaskLoop>(L, lua_upvalueindex(1), "loop");
    LuaState& state = LuaState::of(L);
    const bool more = task_work(L, loop, [&] { return loop.next(); });
    // After the loop too, so that what follows draws the same whether or not this process has gone through it.
    state.rekey(more ? loop.key() : loop.key().fold("after"));
    if (!more) {
      lua_pushnil(L);
    } else if (loop.batch()) {
      push_object(L, loop.batch());
    } else {
      lua_pushnumber(L, static_cast<double>(loop.step()));
    }
    return 1;
  });
}

}  // namespace

void doom_task(lua_State* L, const std::exception& exception) {
  Error error = engine_error(exception);
  const LuaPosition here = LuaState::position(L);
  if (here.line > 0) error.at(here.file, here.line);
  LuaState::of(L).set_doom({std::move(error), false});
}

void push_batches(lua_State* L, const Part& part, std::int64_t size, at::ScalarType float_type) {
  push_object(L, std::make_shared<PlainLoop>(part, size, float_type, run_device(LuaState::of(L))));
  lua_pushcclosure(L, l_next_batch, 1);
}

void push_loop(lua_State* L, const std::shared_ptr<TaskLoop>& loop) {
  push_object(L, loop);
  lua_pushcclosure(L, l_next_step, 1);
}

void open_loops(lua_State* L) {
  for (const char* type : {"batches", "loop"}) {
    lua_newtable(L);
    define_object_type(L, type);
  }
}

}  // namespace trainlab
