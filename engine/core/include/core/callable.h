// Callable: a function that a recipe wrote, as the engine sees it.
//
// Functions travel beside a Value (Spec), never inside it, and never cross a process: a spec with functions is
// rebuilt by executing the stored recipe. A Callable belongs to the thread of its Lua state, its home thread; calling
// it elsewhere is a programmer error and raises std::logic_error.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/value.h"

namespace trainlab {

class Key;  // core/random/key.h

// A native object passed through a call as it is (a tensor, a running fit). Bindings know how to show each type to Lua.
class Object {
 public:
  virtual ~Object() = default;
  // The registry's name of the type ("tensor", "run"): bindings find its methods by it.
  virtual std::string_view type_name() const = 0;
};

using Argument = std::variant<Value, std::shared_ptr<Object>>;

struct Spec;

class Callable {
 public:
  virtual ~Callable() = default;
  // Errors of the script come out as Error{recipe} with file, line and traceback.
  virtual std::vector<Argument> call(std::span<const Argument> arguments) = 0;
  // Calls a function that builds a stage, build(hp) → lab.fit { … }, and returns the checked spec of the stage with
  // the functions in it. Error{recipe} at the function's position when the function returns anything else.
  // std::logic_error for a native function, which never builds a stage.
  virtual std::shared_ptr<const Spec> build(std::span<const Argument> arguments);
  // The key of the random numbers that the next call draws; callers give it before each call, from (seed, stage, role,
  // step), so that a resumed run draws the same. What the script draws outside of its functions is not touched.
  virtual void rekey(Key key) = 0;
  // Where the function was written: "x.lua:18".
  virtual const std::string& where() const = 0;
  // The function's lines, and the texts, numbers and functions that it uses from around it: what makes two functions of
  // two texts of a recipe the same, and differs when a call has changed one of these values. Empty for a native
  // function.
  virtual std::string text() const { return {}; }
};

// Data and the functions that stand in it by index.
struct Spec {
  Value value;
  std::vector<std::shared_ptr<Callable>> functions;

  // The Callable that a function map stands for; nullptr where `value` is none.
  std::shared_ptr<Callable> function(const Value& placeholder) const;
};

}  // namespace trainlab
