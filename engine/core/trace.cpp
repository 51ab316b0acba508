#include "core/trace.h"

#include <array>

namespace trainlab {

namespace trace {
thread_local constinit TraceListener* listener = nullptr;
}

std::string_view phase_name(Phase phase) {
  constexpr std::array<std::string_view, phase_count> names{"step",     "fetch",    "move",      "forward",   "layer",
                                                            "loss",     "backward", "gradients", "optimizer", "average",
                                                            "validate", "commit",   "callback",  "metrics",   "read"};
  return names[static_cast<std::size_t>(phase)];
}

}  // namespace trainlab
