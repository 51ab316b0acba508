// A recipe given as text, executed with a registry of a few entries that are declared here.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/lua_error.h"
#include "bindings/marshal.h"
#include "bindings/recipe.h"
#include "stdlib/stdlib.h"

namespace trainlab::testing {

const Registry& test_registry();

// Files below a folder of its own, removed with it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  void write(const std::string& path, const std::string& text) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Runs texts as the recipe "x.lua". Members may be changed before execute().
class Sandbox {
 public:
  Sandbox();

  Recipe::Outcome execute(const std::string& text);
  // The error of a recipe that must fail.
  Error fails(const std::string& text);
  // The returned stage's option `value`, for recipes that end in: return lab.stage { value = … }.
  Value value(const std::string& text);

  Folder folder;
  LuaLimits limits;
  std::vector<GivenParameter> given;
  bool describe = false;
  std::vector<Flag> flags;  // whose names no parameter may have
  std::string device = "cpu";
  std::vector<std::string> printed;
  std::vector<std::string> sources;
  std::map<std::string, Value> declared;
  std::function<Value(const std::shared_ptr<const Spec>&)> run;
  std::function<void(const Error&)> silent;
  std::unique_ptr<Parameters> parameters;
  std::unique_ptr<Recipe> recipe;
};

// Calls a function of the stage that a recipe returned: { "@" = "function" } under the option `call`.
std::shared_ptr<Callable> returned_function(const Recipe::Outcome& outcome, const std::string& option = "call");

}  // namespace trainlab::testing
