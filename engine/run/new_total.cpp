#include "run/new_total.h"

#include <cmath>
#include <cstdint>

#include "core/duration.h"

namespace trainlab {

std::string NewTotal::text() const {
  if (is_time()) return to_text(Duration{count, Unit::seconds});
  return count_text(count) + " " + (count == 1 ? unit.substr(0, unit.size() - 1) : unit);
}

Value NewTotal::stored() const {
  const bool is_whole = count == std::trunc(count) && std::abs(count) <= largest_exact;
  return is_whole ? Value(static_cast<std::int64_t>(count)) : Value(count);
}

Error NewTotal::no_more_than(const std::string& before) const {
  return usage_error("expected a total of more than the " + before + " of the run, found " + text())
      .hint(std::string("extend takes the new total, not the ") + (is_time() ? "time" : "length") + " to add");
}

}  // namespace trainlab
