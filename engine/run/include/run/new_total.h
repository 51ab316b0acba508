// What `trainlab extend` asks for: a new total of the last stage of a run.
#pragma once

#include <cstdint>
#include <string>

#include "core/duration.h"

namespace trainlab {

struct NewTotal {
  std::int64_t count = 0;
  std::string unit;  // "epochs", "steps" or "time" (in seconds) of a fit, "trials" of a sweep

  std::string text() const {
    if (unit == "time") return to_text(Duration{static_cast<double>(count), Unit::seconds});
    return std::to_string(count) + " " + (count == 1 ? unit.substr(0, unit.size() - 1) : unit);
  }
  bool operator==(const NewTotal&) const = default;
};

}  // namespace trainlab
