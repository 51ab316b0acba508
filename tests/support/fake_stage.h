// A stage kind for tests: a registry with the entry "fit", whose implementation the test gives.
#pragma once

#include <memory>
#include <string>

#include "core/callable.h"
#include "core/registry.h"
#include "run/stage.h"

namespace trainlab::testing {

using StageBody = std::function<Value(const Options&, const StageContext&)>;
using StagePrepared = std::function<void(const RunSettings&)>;  // is told what a stage was prepared with

inline void add_stage_kind(Registry& registry, const std::string& kind, StageBody body, StagePrepared prepared = {},
                           double budget_share = 0.5) {
  registry.add(Entry(kind, "stage", "A stage for tests.")
                   .with(Option("name", "the stage's name").string())
                   .with(Option("size", "anything that tells two stages apart").integer()),
               StageKind{.budget_share = budget_share,
                         .prepare =
                             [body = std::move(body), prepared = std::move(prepared)](const Options& stage,
                                                                                      const RunSettings& settings) {
                               return [body, prepared, settings, stage](const StageContext& context) {
                                 if (prepared) prepared(settings);
                                 return body(stage, context);
                               };
                             },
                         .check = nullptr});
}

inline Options stage_options(const Registry& registry, const std::string& kind, const std::string& name, int size = 0) {
  auto spec = std::make_shared<Spec>();
  spec->value = Value::Map{{"@", kind}, {"name", name}, {"size", size}, {"@at", "recipe.lua:3"}};
  return Options(registry, std::move(spec), kind);
}

}  // namespace trainlab::testing
