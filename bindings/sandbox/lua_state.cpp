#include "bindings/lua_state.h"

#include <array>
#include <cstring>
#include <lua.hpp>
#include <stdexcept>
#include <utility>

#include "bindings/lua_error.h"
#include "core/printable.h"
#include "libraries.h"
#include "meter.h"
#include "native_numbers.h"
#include "other_languages.h"
#include "watchdog.h"

namespace trainlab {

LuaState& LuaState::of(lua_State* L) {
  void* state = nullptr;
  lua_getallocf(L, &state);
  return *static_cast<LuaState*>(state);
}

LuaState::LuaState(LuaHost host)
    : host_(std::move(host)),
      home_(std::this_thread::get_id()),
      random_(Key(static_cast<std::uint64_t>(host_.seed)).fold("recipe")),
      meter_(std::make_unique<Meter>(*this, host_.limits)) {
  main_ = lua_newstate(Meter::allocate, this);
  if (!main_) throw run_error("Lua cannot be started: out of memory");
  current_ = main_;
  life_ = std::make_shared<lua_State*>(main_);
  luaJIT_setmode(main_, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  meter_->attach(main_);
  enter(open_libraries);
  if (host_.silent) watchdog_ = std::make_unique<Watchdog>(*meter_, host_.limits, host_.silent);
}

LuaState::~LuaState() {
  watchdog_.reset();
  *life_ = nullptr;
  meter_->detach();
  meter_->set_unlimited(true);
  lua_sethook(main_, nullptr, 0, 0);
  lua_close(main_);
}

void LuaState::assert_home() const {
  if (std::this_thread::get_id() != home_)
    throw std::logic_error("a Lua state was entered on another thread than its own");
}

int LuaState::frames(lua_State* L) {
  lua_Debug ar;
  int low = 0, high = 1;
  while (lua_getstack(L, high, &ar) != 0) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (lua_getstack(L, middle, &ar) != 0 ? low : high) = middle;
  }
  return high;
}

LuaPosition LuaState::position(lua_State* L) {
  const Base& base = of(L).base_;
  const int below = L == base.thread ? base.frames : 0;
  lua_Debug ar, deeper;
  for (int level = 0; lua_getstack(L, level, &ar) != 0; ++level) {
    // The caller's line is not that of a function whose own frame is gone (`return f(x)`).
    if (below > 0 && lua_getstack(L, level + below, &deeper) == 0) break;
    lua_getinfo(L, "Sl", &ar);
    if (ar.currentline > 0 && ar.source[0] == '@') return {ar.source + 1, ar.currentline};
  }
  return {};
}

const LuaLookup* LuaState::lookup(const Entry* entry) const {
  const auto found = lookups_.find(entry);
  return found == lookups_.end() ? nullptr : &found->second;
}

namespace {

struct Entered {
  const std::function<void(lua_State*)>* body;
  std::exception_ptr failed;
};

// Exceptions are carried past Lua by hand; Lua's errors are not among those that are caught here.
int run_entered(lua_State* L) {
  auto* entered = static_cast<Entered*>(lua_touserdata(L, 1));
  lua_settop(L, 0);
  try {
    (*entered->body)(L);
  } catch (const std::exception&) {
    entered->failed = std::current_exception();
  }
  return 0;
}

std::string plain_text(lua_State* L, int index) {
  std::size_t length = 0;
  if (lua_type(L, index) != LUA_TSTRING) return "";
  const char* text = lua_tolstring(L, index, &length);
  return {text, length};
}

}  // namespace

void LuaState::enter(const std::function<void(lua_State*)>& body) {
  assert_home();
  lua_State* L = current_;
  const int top = lua_gettop(L);
  Entered entered{&body, nullptr};
  const int status = lua_checkstack(L, 40) != 0 ? lua_cpcall(L, run_entered, &entered) : LUA_ERRMEM;
  if (entered.failed) {
    lua_settop(L, top);
    std::rethrow_exception(entered.failed);
  }
  if (status == 0) return;
  traceback_.clear();
  failed_at_ = {};
  Error error = take_error(L, status);
  lua_settop(L, top);
  if (depth_ == 0) meter_->collect_garbage();
  throw error;
}

void LuaState::call(lua_State* L, int arguments, int results, Part part) {
  const int handler = lua_gettop(L) - arguments;
  lua_pushcfunction(L, on_error);
  lua_insert(L, handler);

  const Part before = part_;
  const Base outer = base_;
  base_ = {L, frames(L)};
  lua_State* const running = current_;
  part_ = part;
  current_ = L;
  ++depth_;
  const Meter::Saved saved = meter_->begin();
  const int status = lua_pcall(L, arguments, results, handler);
  meter_->end(saved);
  --depth_;
  current_ = running;
  part_ = before;
  base_ = outer;

  if (status == 0 && !doom_) {
    lua_remove(L, handler);
    return;
  }
  Error error = take_error(L, status);
  lua_settop(L, handler - 1);
  if (doom_ && (!doom_->until_outermost || depth_ == 0)) {
    doom_.reset();
    meter_->watch_closely(false);
  }
  throw error;
}

// The traceback of the script's own lines; kept aside, so that the error value is unchanged.
int LuaState::on_error(lua_State* L) {
  return guarded(L, [&] {
    constexpr int kFrames = 20;
    std::string text;
    lua_Debug ar;
    int frames = 0;
    for (int level = 0; lua_getstack(L, level, &ar) != 0; ++level) {
      lua_getinfo(L, "Sln", &ar);
      if (ar.currentline <= 0 || ar.source[0] != '@') continue;
      if (++frames > kFrames) {
        text += "\n  …";
        break;
      }
      text += "\n  " + std::string(ar.source + 1) + ":" + std::to_string(ar.currentline) + ": in ";
      if (std::strcmp(ar.what, "main") == 0) {
        text += "the file itself";
      } else if (ar.name) {
        text += "function '" + std::string(ar.name) + "'";
      } else {
        text += "the function at line " + std::to_string(ar.linedefined);
      }
    }
    LuaState& state = LuaState::of(L);
    state.traceback_ = text.empty() ? "" : "traceback:" + text;
    state.failed_at_ = position(L);
    return 1;
  });
}

// `FILE:LINE: message` of a chunk that this state has loaded, taken apart.
Error LuaState::from_text(const std::string& text) const {
  for (const auto& [shortened, name] : names_) {
    if (text.compare(0, shortened.size(), shortened) != 0 || text[shortened.size()] != ':') continue;
    std::size_t used = 0;
    const std::string rest = text.substr(shortened.size() + 1);
    int line = 0;
    while (used < rest.size() && used < 9 && rest[used] >= '0' && rest[used] <= '9')
      line = line * 10 + (rest[used++] - '0');
    if (used == 0 || rest.compare(used, 2, ": ") != 0) continue;
    return recipe_error(rest.substr(used + 2)).at(name, line);
  }
  return recipe_error(text);
}

Error LuaState::take_error(lua_State* L, int status) {
  std::string traceback = std::move(traceback_);
  traceback_.clear();
  // A traceback of nothing but the error's own position says nothing more.
  const auto traced = [&traceback](Error error) {
    const std::string itself =
        "traceback:\n  " + error.file() + ":" + std::to_string(error.line()) + ": in the file itself";
    if (traceback != itself) error.traceback(traceback);
    return error;
  };
  const LuaPosition at = std::exchange(failed_at_, {});
  if (doom_) return traced(doom_->error);
  if (status == LUA_ERRMEM) {
    Error error = meter_->memory_error();
    if (meter_->refused_at().line > 0) error.at(meter_->refused_at().file, meter_->refused_at().line);
    return error;
  }
  const int type = lua_type(L, -1);
  if (type == LUA_TSTRING) {
    const std::string text = valid_utf8(plain_text(L, -1));
    if (raised_ && text == raised_text_) {
      // An error in the command line has no line in the recipe.
      return raised_->kind() == ErrorKind::usage ? *raised_ : traced(*raised_);
    }
    Error error = from_text(text);
    // Lua's position of an overflow of the stack is that of another function than the one that calls itself.
    if (error.message() == "stack overflow") error = recipe_error(error.message());
    if (at.line > 0) error.at(at.file, at.line);  // unless the text has a position
    const auto source = texts_.find(error.file());
    const std::string_view recipe = source == texts_.end() ? std::string_view() : source->second;
    return traced(error.hint(std::string(call_elsewhere(error.message(), recipe, error.line()))));
  }
  const std::string kind =
      type == LUA_TNUMBER ? number_text(lua_tonumber(L, -1)) : std::string("a ") + lua_typename(L, type);
  Error error = recipe_error("the recipe raised " + kind + " as an error").hint("raise a string: error(\"…\")");
  if (at.line > 0) error.at(at.file, at.line);
  return traced(std::move(error));
}

void LuaState::raise_kept(lua_State* L) {
  {
    Error& error = *kept_;
    const LuaPosition here = position(L);
    if (here.line > 0) error.at(here.file, here.line);
    // The recipe sees the message without a traceback.
    Error shown(error.kind(), error.message());
    if (!error.file().empty()) shown.at(error.file(), error.line());
    shown.in(error.path()).hint(error.hint());
    raised_text_ = valid_utf8(shown.what());
    raised_ = std::move(kept_);
    kept_.reset();
  }
  lua_pushlstring(L, raised_text_.data(), raised_text_.size());
  lua_error(L);
  __builtin_unreachable();
}

void LuaState::print(std::string_view text) {
  if (!host_.print || printed_ > host_.limits.output) return;
  printed_ += static_cast<std::int64_t>(text.size()) + 1;
  if (printed_ > host_.limits.output) {
    host_.print("this recipe has printed more than " + std::to_string(host_.limits.output >> 20) +
                " MiB: what it prints from here on is dropped");
    return;
  }
  const std::string lines = printable(text);
  std::size_t begin = 0;
  for (std::size_t end = lines.find('\n'); end != std::string::npos; end = lines.find('\n', begin)) {
    host_.print(lines.substr(begin, end - begin));
    begin = end + 1;
  }
  host_.print(lines.substr(begin));
}

void LuaState::set_doom(Doom doom) {
  doom_ = std::move(doom);
  meter_->watch_closely(true);
}

std::string LuaState::function_text(const std::string& shown, int first, int last) const {
  const auto found = texts_.find(shown);
  if (found == texts_.end()) return {};
  std::string lines;
  for (int line = first; line <= last; ++line) lines += std::string(line_of(found->second, line)) + "\n";
  const std::size_t begin = lines.find("function"), end = lines.rfind("end");
  if (begin == std::string::npos || end == std::string::npos || end < begin) return lines;
  return lines.substr(begin, end + 3 - begin);
}

int LuaState::last_return_line(const std::string& shown) const {
  const auto found = texts_.find(shown);
  if (found == texts_.end()) return 1;
  int last = 1, line = 1;
  for (std::string_view rest = found->second;; ++line) {
    if (rest.starts_with("return")) last = line;
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return last;
    rest.remove_prefix(end + 1);
  }
}

int LuaState::return_line(const std::string& shown, int first, int last, int otherwise) const {
  const auto found = texts_.find(shown);
  if (found == texts_.end()) return otherwise;
  int at = 0;
  for (int line = first; line <= last; ++line) {
    std::string_view text = line_of(found->second, line);
    text = text.substr(0, text.find("--"));
    if (text.find("return") == std::string_view::npos) continue;
    if (at > 0) return otherwise;
    at = line;
  }
  return at > 0 ? at : otherwise;
}

void LuaState::load(lua_State* L, std::string_view text, const std::string& shown) {
  std::string changed;
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  if (text.substr(0, 1) == "#") {  // a line for the shell
    changed = "--" + std::string(text);
    text = changed;
  }
  if (text.substr(0, 1) == "\x1B") {
    throw recipe_error("this is compiled Lua, not text").at(shown, 1).hint("only text is executed: give the source");
  }
  const std::string name = "@" + shown;
  const int status = luaL_loadbufferx(L, text.data(), text.size(), name.c_str(), "t");
  // Lua shortens long names in its messages: "...ecipes/digits.lua".
  if (status == 0) {
    lua_Debug ar;
    lua_pushvalue(L, -1);
    lua_getinfo(L, ">S", &ar);
    names_[ar.short_src] = shown;
    texts_[shown] = text;
    if (const std::optional<int> line = native_number_line(L)) {
      throw recipe_error("expected a number, found one of LuaJIT's native numbers, as 1LL, 2ULL and 3i are")
          .at(shown, *line)
          .hint("write 1, 2; integers are exact up to 2^53, and complex numbers are tensors");
    }
    return;
  }
  if (status == LUA_ERRMEM) throw meter_->memory_error().at(shown, 1);
  const std::string message = valid_utf8(plain_text(L, -1));
  lua_pop(L, 1);
  // The chunk has no debug information to ask: the name comes before the first ":digits: ".
  std::size_t colon = message.find(':');
  while (colon != std::string::npos) {
    std::size_t end = colon + 1;
    while (end < message.size() && message[end] >= '0' && message[end] <= '9') ++end;
    if (end > colon + 1 && end - colon < 10 && message.compare(end, 2, ": ") == 0) {
      const int line = std::stoi(message.substr(colon + 1, end - colon - 1));
      throw recipe_error(message.substr(end + 2)).at(shown, line).hint(std::string(syntax_elsewhere(text, line)));
    }
    colon = message.find(':', colon + 1);
  }
  throw recipe_error(message).at(shown, 1);
}

}  // namespace trainlab
