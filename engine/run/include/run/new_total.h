// What `trainlab extend` asks for: a new total of the last stage of a run.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "core/duration.h"
#include "core/error.h"
#include "core/value.h"

namespace trainlab {

struct NewTotal {
  double count = 0;
  std::string unit;  // "epochs" or "steps" of a fit, "trials" of a sweep, "time" (in seconds) of either

  std::string text() const {
    if (is_time()) return to_text(Duration{count, Unit::seconds});
    return count_text(count) + " " + (count == 1 ? unit.substr(0, unit.size() - 1) : unit);
  }
  bool is_time() const { return unit == "time"; }
  // The count as files keep it: a whole number as an integer.
  Value stored() const {
    const bool is_whole = count == std::trunc(count) && std::abs(count) <= largest_exact;
    return is_whole ? Value(static_cast<std::int64_t>(count)) : Value(count);
  }
  // For a total that is not more than `before`, that of the run so far.
  Error no_more_than(const std::string& before) const {
    return usage_error("expected a total of more than the " + before + " of the run, found " + text())
        .hint(std::string("extend takes the new total, not the ") + (is_time() ? "time" : "length") + " to add");
  }
  bool operator==(const NewTotal&) const = default;
};

}  // namespace trainlab
