#include "core/time_in_seconds.h"

#include "core/duration.h"
#include "core/error.h"

namespace trainlab {

namespace {

bool is_time(const Duration& duration) { return duration.unit == Unit::seconds && duration.amount > 0; }

std::string misfit(const Duration& found) {
  const bool is_none = found.unit == Unit::seconds && found.amount == 0;
  return std::string("expected a time ") + (is_none ? "above 0, " : "") + "such as \"10 min\" or \"18 h\", found \"" +
         to_text(found) + "\"";
}

}  // namespace

double time_in_seconds(const Duration& time) {
  if (!is_time(time)) throw recipe_error(misfit(time));
  return time.amount;
}

double time_in_seconds(const Options& options, std::string_view option) {
  const Duration time = options.duration(option);
  if (!is_time(time)) throw options.error(option, misfit(time));
  return time.amount;
}

}  // namespace trainlab
