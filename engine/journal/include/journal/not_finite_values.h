// NotFiniteValues: the names of a stage's values that have come out as NaN or infinity, which a row of metrics.jsonl
// cannot hold. Each name is told once, also when the stage is continued.
#pragma once

#include <cmath>
#include <set>
#include <string>

#include "journal/record.h"

namespace trainlab {

class NotFiniteValues {
 public:
  // Whether `value` is NaN or infinite, and the first such value of `name`.
  bool is_first(const std::string& name, double value) { return !std::isfinite(value) && names_.insert(name).second; }

  // The part that a checkpoint keeps; nothing while all values were finite. A mended recipe is told anew, because its
  // run drops the warnings from before. The object outlives the part.
  Resumable part(const StageContext& stage) {
    const bool is_mended = stage.settings && stage.settings->is_mended;
    return {.name = "not_finite",
            .state = [this]() -> std::optional<Value> {
              if (names_.empty()) return std::nullopt;
              return Value::List(names_.begin(), names_.end());
            },
            .restore =
                [this, is_mended](const Value& names, const NamedTensors&) {
                  if (!names.is_list() || is_mended) return;
                  for (const Value& name : names.list()) names_.insert(name.string());
                }};
  }

 private:
  std::set<std::string> names_;
};

}  // namespace trainlab
