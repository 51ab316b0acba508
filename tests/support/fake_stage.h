// A stage kind for tests: a registry with the entry "fit", whose implementation the test gives.
#pragma once

#include <memory>
#include <string>

#include "core/registry.h"
#include "run/stage.h"

namespace trainlab::testing {

using StageBody = std::function<Value(const Options&, const StageContext&)>;

inline void add_stage_kind(Registry& registry, const std::string& kind, StageBody body) {
  registry.add(Entry(kind, "stage", "A stage for tests.")
                   .with(Option("name", "the stage's name").string())
                   .with(Option("size", "anything that tells two stages apart").integer()),
               StageKind{.prepare =
                             [body = std::move(body)](const Options& stage, const RunSettings&) {
                               return [body, stage](const StageContext& context) { return body(stage, context); };
                             },
                         .check = nullptr});
}

inline Options stage_options(const Registry& registry, const std::string& kind, const std::string& name, int size = 0) {
  auto spec = std::make_shared<Spec>();
  spec->value = Value::Map{{"@", kind}, {"name", name}, {"size", size}, {"@at", "recipe.lua:3"}};
  return Options(registry, std::move(spec), kind);
}

}  // namespace trainlab::testing
