// Data specs without Lua: the Values that a recipe's constructors give.
#pragma once

#include "core/callable.h"
#include "data/loader.h"
#include "support/data_support.h"

namespace trainlab::test {

inline const Registry& registry() {
  static const Registry filled = [] {
    Registry r;
    register_data(r);
    return r;
  }();
  return filled;
}

// data("csv", { path = …, target = … }).
inline Value data(const std::string& source, Value::Map options = {}) {
  options["@"] = "data." + source;
  options["@at"] = "recipe.lua:7";
  return options;
}

// data:method { … } on `source`.
inline Value method(const std::string& name, Value source, Value::Map options = {}) {
  options["@"] = "data:" + name;
  options["@at"] = "recipe.lua:7";
  options["source"] = std::move(source);
  return options;
}

inline DataParts open(const Value& value, std::int64_t seed = 1) {
  auto spec = std::make_shared<Spec>();
  spec->value = registry().check(value, "fit.data");
  return open_data(Options(registry(), spec, "fit.data"), {.seed = seed});
}

inline std::vector<std::int64_t> rows_of(const Part& part) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < part.size(); ++i) rows.push_back(part.row(i));
  return rows;
}

// All of a part as one batch.
Batch all_of(const Part& part, at::ScalarType float_type = at::kFloat);

}  // namespace trainlab::test
