// NewTotal: the new total of the last stage of a run, for which `trainlab extend` asks.
#pragma once

#include <string>

#include "core/error.h"
#include "core/value.h"

namespace trainlab {

struct NewTotal {
  double count = 0;
  std::string unit;  // "epochs" or "steps" of a fit, "trials" of a sweep, "time" (in seconds) of either

  std::string text() const;  // "1 epoch", "1.5 h"
  bool is_time() const { return unit == "time"; }
  // The count as files keep it: a whole number as an integer.
  Value stored() const;
  // For a total that is not more than `before`, that of the run so far.
  Error no_more_than(const std::string& before) const;
  bool operator==(const NewTotal&) const = default;
};

}  // namespace trainlab
