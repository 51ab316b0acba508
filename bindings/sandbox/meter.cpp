#include "meter.h"

#include <cstdlib>
#include <ctime>
#include <lua.hpp>

#include "run/stage.h"

namespace trainlab {

namespace {

constexpr int kInterval = 10'000;                            // instructions between two looks
constexpr std::int64_t kLarge = std::int64_t{32} << 20;      // a request that is refused rather than granted
constexpr std::int64_t kHeadroom = std::int64_t{128} << 20;  // above the limit, until the next instruction

// Nanoseconds, exact to a few milliseconds: each operator that a script calls asks, and silence is a matter of seconds.
std::int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes >= std::int64_t{1} << 30) return number_text(static_cast<double>(bytes) / (1 << 30)) + " GiB";
  return number_text(static_cast<double>(bytes) / (1 << 20)) + " MiB";
}

std::string count_text(std::int64_t n) {
  std::string digits = std::to_string(n);
  for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3)
    digits.insert(static_cast<std::size_t>(i), ",");
  return digits;
}

}  // namespace

Meter::Meter(LuaState& state, const LuaLimits& limits) : state_(state), limits_(limits) {}

void* Meter::allocate(void* state, void* pointer, std::size_t before, std::size_t after) {
  return static_cast<LuaState*>(state)->meter().reallocate(pointer, before, after);
}

void* Meter::reallocate(void* pointer, std::size_t before, std::size_t after) {
  if (after == 0) {
    std::free(pointer);
    used_ -= static_cast<std::int64_t>(before);
    return nullptr;
  }
  const std::int64_t grown = static_cast<std::int64_t>(after) - static_cast<std::int64_t>(before);
  const std::int64_t wanted = used_ + grown;
  if (grown > 0 && wanted > limits_.memory && !unlimited_) {
    if (grown > kLarge || wanted > limits_.memory + kHeadroom) {
      // Lua gives no position with this error. Reading the stack allocates nothing.
      if (main_) refused_at_ = LuaState::position(state_.current());
      return nullptr;
    }
    if (!over_ && main_) {
      over_ = true;
      watch_closely(true);
    }
  }
  void* moved = std::realloc(pointer, after);
  if (moved) used_ = wanted;
  return moved;
}

void Meter::attach(lua_State* L) {
  main_ = L;
  watch_closely(false);
}

void Meter::watch_closely(bool closely) {
  interval_ = closely ? 1 : kInterval;
  lua_sethook(main_, hook, LUA_MASKCOUNT, interval_);
}

Meter::Saved Meter::begin() {
  const Saved saved{executed_, heard_.load()};
  executed_ = 0;
  heard();
  return saved;
}

void Meter::end(Saved saved) {
  executed_ = saved.executed;
  heard_ = saved.heard == 0 ? 0 : now();
}

void Meter::heard() { heard_ = now(); }

double Meter::silent_seconds() const {
  const std::int64_t heard = heard_.load();
  return heard == 0 ? 0 : static_cast<double>(now() - heard) * 1e-9;
}

LuaPosition Meter::last_position() const {
  const std::lock_guard lock(position_mutex_);
  return position_;
}

void Meter::note(lua_State* L) {
  LuaPosition here = LuaState::position(L);
  const std::lock_guard lock(position_mutex_);
  position_ = std::move(here);
}

void Meter::hook(lua_State* L, lua_Debug*) {
  LuaState& state = LuaState::of(L);
  state.meter().on_hook(L);
  if (state.doom()) {
    // A copy for Lua, made after the last C++ object of on_hook is gone.
    lua_pushstring(L, state.doom()->error.message().c_str());
    lua_error(L);
  }
}

void Meter::on_hook(lua_State* L) {
  if (state_.doom()) return;
  heard();
  if (over_) over_memory(L);
  if (state_.doom()) return;
  executed_ += interval_;
  if (interval_ == 1) watch_closely(false);

  LuaPosition here = LuaState::position(L);
  // A callback may run to its end: the loop that called it asks at its next step.
  const bool callback = state_.part() == LuaState::Part::callback;
  if (!callback && stop_requested()) {
    Error error(ErrorKind::interrupted, "interrupted while the recipe was being executed");
    if (here.line > 0) error.at(here.file, here.line);
    state_.set_doom({error, true});
  } else if (executed_ > limits_.instructions) {
    Error error = recipe_error("stopped after " + count_text(limits_.instructions) +
                               " instructions without a call that did work" + (callback ? " in this callback" : ""));
    error.hint("there may be a loop that does not end; long computations belong into stages");
    if (here.line > 0) error.at(here.file, here.line);
    state_.set_doom({error, false});
  }
  const std::lock_guard lock(position_mutex_);
  position_ = std::move(here);
}

// Collects garbage, and raises if too much memory remains in use. The limit does not count garbage.
void Meter::over_memory(lua_State* L) {
  over_ = false;
  unlimited_ = true;
  lua_gc(L, LUA_GCCOLLECT, 0);
  unlimited_ = false;
  if (used_ <= limits_.memory - limits_.memory / 16) return;
  Error error = memory_error();
  const LuaPosition here = LuaState::position(L);
  if (here.line > 0) error.at(here.file, here.line);
  state_.set_doom({error, false});
}

Error Meter::memory_error() const {
  return recipe_error("the memory limit of recipes is reached: " + bytes_text(limits_.memory) + " of Lua values")
      .hint("large data belongs into tensors and data sources, which do not count here");
}

void Meter::collect_garbage() {
  if (used_ <= limits_.memory - limits_.memory / 16) return;
  lua_sethook(main_, nullptr, 0, 0);
  unlimited_ = true;
  lua_cpcall(
      main_,
      [](lua_State* L) {
        lua_gc(L, LUA_GCCOLLECT, 0);
        return 0;
      },
      nullptr);
  unlimited_ = false;
  over_ = false;
  watch_closely(false);
}

}  // namespace trainlab
