// LuaState: the sandboxed Lua of one recipe.
//
// LuaJIT with the compiler off, an allow-list of library functions in tables of its own, text chunks only, limits on
// instructions, memory and silence. Native code enters it through enter() and call() only; errors of the script come
// out as trainlab::Error with file, line and traceback.
//
// A state belongs to the thread that made it, its home thread; entering it elsewhere raises std::logic_error. The
// watchdog's thread only reads what is meant for it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/random/stream.h"
#include "core/registry.h"

struct lua_State;

namespace trainlab {

class Meter;
class Watchdog;
struct TensorBinding;

struct LuaLimits {
  std::int64_t instructions = 2'000'000'000;     // per callback, and for the recipe's own chunk
  std::int64_t memory = std::int64_t{1} << 30;   // bytes of the Lua heap
  double silence = 60;                           // s without a sign of life while Lua or one operator runs
  double grace = 10;                             // s from there to the process's end, if no instruction comes
  int coroutines = 100;                          // nested resumes
  std::int64_t output = std::int64_t{64} << 20;  // bytes of print; further output is dropped
};

// A file of the standard library: "base.lua" and its text.
struct LuaSource {
  std::string name;
  std::string text;
};

// The values and functions that a state gets from its host.
struct LuaHost {
  const Registry* registry = nullptr;  // must outlive the state
  LuaLimits limits;
  std::vector<LuaSource> stdlib;        // if empty: no nested coroutines, no xpcall, native pairs
  std::int64_t seed = 1;                // lab.seed
  std::function<std::string()> device;  // device of the run, for lab.build and results; empty: the CPU
  double started = 0;                   // value of os.time(): wall seconds of the run's start
  bool describes = false;               // only the recipe's parameters are wanted (--help)
  bool checks = false;                  // nothing is run, or nothing that counts (`check`)
  std::string begun_by;                 // version of trainlab that began the run; empty: this version
  std::string recipe_folder;            // absolute: option values that are paths are relative to it
  std::string working_folder;           // absolute: where trainlab was called, which holds runs/
  // The folder of the newest run in a folder runs/NAME that has ended (run/latest.h), empty where there is none. Null:
  // a part "latest" of a path stays.
  std::function<std::string(const std::string& runs)> latest_run;
  std::function<void(const std::string&)> print;  // one line, without control characters
  // Called once, on the watchdog's thread, when the script was silent for limits.silence and limits.grace; it ends the
  // process. Without it neither limit holds.
  std::function<void(const Error&)> silent;
};

// A place in a script: "recipes/digits.lua", 12; line 0 if it is not known.
struct LuaPosition {
  std::string file;
  int line = 0;
  std::string text() const { return line > 0 ? file + ":" + std::to_string(line) : ""; }
};

// Where a constructor was looked up last, and how deep the stack was there.
struct LuaLookup {
  LuaPosition position;
  int depth = 0;
};

// An error that ends the execution and that `pcall` cannot catch. until_outermost: it ends the whole recipe, not only
// the callback in which it happened.
struct Doom {
  Error error;
  bool until_outermost = false;
};

class LuaState {
 public:
  explicit LuaState(LuaHost host);
  ~LuaState();
  LuaState(const LuaState&) = delete;

  static LuaState& of(lua_State* L);

  const LuaHost& host() const { return host_; }
  Meter& meter() { return *meter_; }
  // Hands what a recipe prints to the host, as lines without control characters. Output beyond limits.output is dropped
  // with one warning: a full log is no reason to end a training.
  void print(std::string_view text);

  Stream& random() { return random_; }
  void rekey(Key key) { random_ = Stream(key); }

  // The thread of Lua that runs now: the main one, or the coroutine that called into native code.
  lua_State* current() const { return current_; }
  void set_current(lua_State* L) { current_ = L; }

  // Runs `body` where Lua may raise errors, for lack of memory for example. Values that the body leaves on the stack
  // are dropped. Raises Error for Lua's errors; exceptions of the body pass through.
  void enter(const std::function<void(lua_State*)>& body);

  // The kind of a call: the recipe's own text, or a function of the recipe that the engine calls.
  enum class Part { recipe, build, callback };
  // Inside enter(): calls the function below `arguments` values on the stack, under limits that are counted from
  // nothing; leaves `results` values (−1: all). Raises Error.
  void call(lua_State* L, int arguments, int results, Part part);
  Part part() const { return part_; }  // of the innermost call

  // Inside enter(): pushes the function that a text compiles to. `shown` is the name in messages.
  void load(lua_State* L, std::string_view text, const std::string& shown);
  // Lines `first` to `last` of a text that was loaded under this name, from the first word "function" to the last word
  // "end" in them. Empty if there is no such text.
  std::string function_text(const std::string& shown, int first, int last) const;
  // The line, from `first` to `last`, of an error whose line Lua does not know, as it forgets the line of `return f(x)`
  // before the call: the only line with the word "return"; `otherwise` if there is none or there are several.
  int return_line(const std::string& shown, int first, int last, int otherwise) const;
  // The last line of a text that begins with "return", else 1.
  int last_return_line(const std::string& shown) const;

  // For native functions that Lua called: raises `error` in Lua, at the caller's line unless the error has a position.
  // No C++ object of the caller may need its destructor.
  [[noreturn]] void raise_kept(lua_State* L);
  void keep(Error error) { kept_ = std::move(error); }

  // From now on every instruction raises `doom`.
  void set_doom(Doom doom);
  const std::optional<Doom>& doom() const { return doom_; }
  // The host of lab.run has ended the execution (ExecutionEnds).
  void set_ended() { ended_ = true; }
  bool ended() const { return ended_; }

  // A stage that the recipe has made; the position of the latest.
  void note_stage(const std::string& entry, LuaPosition position) { stage_ = {entry, std::move(position)}; }
  const std::pair<std::string, LuaPosition>& latest_stage() const { return stage_; }

  // Data of the tensor bindings for this state (lua_tensor.h); null before open_tensors.
  std::shared_ptr<TensorBinding> tensors;

  // The number of frames on the stack.
  static int frames(lua_State* L);
  // Where the script stands: the innermost line of a recipe or module within the innermost call.
  static LuaPosition position(lua_State* L);

  const LuaLookup* lookup(const Entry* entry) const;
  void set_lookup(const Entry* entry, LuaLookup lookup) { lookups_[entry] = std::move(lookup); }

  // Objects that must not touch a closed state hold this; null once it is closed.
  std::shared_ptr<lua_State*> life() const { return life_; }
  void assert_home() const;

 private:
  Error take_error(lua_State* L, int status);
  Error from_text(const std::string& text) const;
  static int on_error(lua_State* L);

  LuaHost host_;
  std::thread::id home_;
  Stream random_;
  lua_State* main_ = nullptr;
  lua_State* current_ = nullptr;
  std::int64_t printed_ = 0;
  int depth_ = 0;  // calls under way
  Part part_ = Part::recipe;
  // Where the innermost call began: its thread, and how many frames lie below.
  struct Base {
    lua_State* thread = nullptr;
    int frames = 0;
  } base_;
  std::unique_ptr<Meter> meter_;
  std::unique_ptr<Watchdog> watchdog_;
  std::shared_ptr<lua_State*> life_;

  std::optional<Doom> doom_;
  bool ended_ = false;
  std::optional<Error> kept_;    // on its way into Lua
  std::optional<Error> raised_;  // the last error raised in Lua, to be found again when it comes out
  std::string raised_text_;
  std::string traceback_;  // of the error on its way out
  LuaPosition failed_at_;
  std::map<const Entry*, LuaLookup> lookups_;
  std::pair<std::string, LuaPosition> stage_;
  std::map<std::string, std::string> names_;  // a chunk's name as Lua shortens it → the name
  std::map<std::string, std::string> texts_;  // a chunk's name → its text
};

}  // namespace trainlab
