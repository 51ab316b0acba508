#include "meter.h"

#include <unistd.h>

#include <cstdlib>
#include <lua.hpp>
#include <utility>

#include "run/stage.h"

namespace trainlab {

namespace {

constexpr int kInterval = 10'000;                            // instructions between two looks
constexpr std::int64_t kLarge = std::int64_t{32} << 20;      // a request that is refused rather than granted
constexpr std::int64_t kHeadroom = std::int64_t{128} << 20;  // above the limit, until the next instruction

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

Meter::Meter(LuaState& state, const LuaLimits& limits) : state_(state), limits_(limits) {
  pthread_getcpuclockid(thread_, &thread_clock_);
  struct sigaction action = {};
  action.sa_sigaction = on_interruption;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigaction(SIGURG, &action, nullptr);
}

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

void Meter::watch_closely(bool closely) { lua_sethook(main_, hook, LUA_MASKCOUNT, closely ? 1 : kInterval); }

Meter::Saved Meter::begin() {
  const Saved saved{executed_, runs()};
  executed_ = 0;
  sign(true);
  return saved;
}

void Meter::end(Saved saved) {
  executed_ = saved.executed;
  sign(saved.runs);
}

double Meter::seconds_used() const {
  timespec time{};
  clock_gettime(thread_clock_, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void Meter::interrupt(std::uint64_t since) {
  late_ = since;
  ::pthread_sigqueue(thread_, SIGURG, {.sival_ptr = this});
}

// The handler may come at any moment of its thread, within LuaJIT too: lua_sethook() sets a counter that the next
// instruction meets. When no script runs, the hook may be off for a moment, and stays as it is.
void Meter::on_interruption(int /*signal*/, siginfo_t* info, void* /*context*/) {
  if (info->si_code != SI_QUEUE || info->si_pid != ::getpid()) return;  // another program's
  auto* const meter = static_cast<Meter*>(info->si_value.sival_ptr);
  if (meter->main_ && meter->runs()) meter->watch_closely(true);
}

LuaPosition Meter::position_inside() const {
  // The stack of a thread of Lua that waits for an operator stands still.
  if (lua_State* L = operating_.load(std::memory_order_relaxed)) return LuaState::position(L);
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
  if (over_) over_memory(L);
  if (state_.doom()) return;
  const int interval = lua_gethookcount(L);
  executed_ += interval;
  if (interval != kInterval) watch_closely(false);
  const bool late = late_.exchange(0) == last_sign();

  LuaPosition here = LuaState::position(L);
  // A callback may run to its end: the loop that called it asks at its next step.
  const bool callback = state_.part() == LuaState::Part::callback;
  if (!callback && stop_requested()) {
    Error error(ErrorKind::interrupted, "interrupted while the recipe was being executed");
    if (here.line > 0) error.at(here.file, here.line);
    state_.set_doom({error, true});
  } else if (late || executed_ > limits_.instructions) {
    const std::string limit =
        late ? number_text(limits_.silence) + " s" : count_text(limits_.instructions) + " instructions";
    Error error = recipe_error("stopped after " + limit + " without a call that did work" +
                               (callback ? " in this callback" : ""));
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
