// Specs of the module's entries as tests write them, and the golden numbers.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/callable.h"
#include "core/files.h"
#include "core/registry.h"
#include "optim/optimizer.h"

namespace trainlab {

inline const Registry& optim_registry() {
  static const Registry registry = [] {
    Registry filled;
    register_optim(filled);
    return filled;
  }();
  return registry;
}

// Checked options of `entry`, as a recipe would give them.
inline Options optim_spec(const std::string& entry, Value::Map options = {}) {
  options["@"] = entry;
  options["@at"] = "recipe.lua:3";
  Spec spec{.value = optim_registry().check(Value(std::move(options))), .functions = {}};
  return {optim_registry(), std::make_shared<const Spec>(std::move(spec)), "optim"};
}

inline const Value& optim_golden() {
  static const Value golden = [] {
    const auto path = std::filesystem::path(TRAINLAB_SOURCE_DIR) / "tests/golden/optim_golden.json";
    return parse_json(read_file(path), path.string());
  }();
  return golden;
}

}  // namespace trainlab
