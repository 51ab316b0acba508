// A recipe's parameters: declared by lab.param, given on the command line or in a file.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "bindings/lua_state.h"
#include "core/value.h"
#include "run/flag.h"
#include "run/request.h"

namespace trainlab {

class Parameters {
 public:
  // `describe`: only the declarations are wanted (--help); a parameter without a default gets some value of its type.
  // `flags`: those whose names no parameter may have. `declared` is called with each value. `known_flags`: the names of
  // the flags that may be meant by a parameter which the recipe does not have.
  Parameters(std::vector<GivenParameter> given, std::filesystem::path working_folder, bool describe,
             std::vector<Flag> flags, std::function<void(const std::string&, const Value&)> declared,
             std::vector<std::string> known_flags = {});

  // The value of a parameter, from the checked options of lab.param. Raises Error{recipe} at `at` for a declaration
  // that contradicts itself, Error{usage} for a given value that does not fit.
  Value declare(const Value& options, const LuaPosition& at);

  // Called after the last declaration. Error{usage} with "did you mean" for a given parameter that was not declared.
  void close();
  bool closed() const { return closed_; }

  // The text of --help: the comment that opens the recipe, and the parameters.
  std::string help(const std::string& shown, std::string_view recipe) const;

 private:
  struct Declared {
    std::string name, type, doc, range, presence;
    std::vector<std::string> choices;
    LuaPosition at;
  };

  std::vector<GivenParameter> given_;
  std::filesystem::path working_folder_;
  bool describe_;
  std::vector<Flag> flags_;
  std::function<void(const std::string&, const Value&)> on_declared_;
  std::vector<std::string> known_flags_;
  std::vector<Declared> declared_;
  bool closed_ = false;
};

}  // namespace trainlab
