#include "journal/script_state.h"

#include "core/clock.h"

namespace trainlab {

std::optional<Error> StateLooks::fault(const std::function<ScriptState()>& read, bool now) {
  constexpr std::int64_t few = 64;  // values: read in some microseconds
  constexpr double share = 50;
  if (!now && values_ > few && steady_seconds() - end_ < share * took_) return std::nullopt;
  const double begin = steady_seconds();
  const ScriptState state = read();
  values_ = state.values;
  end_ = steady_seconds();
  took_ = end_ - begin;
  return state.fault;
}

}  // namespace trainlab
