#include "core/trace.h"

#include <array>

#include "core/input_trace.h"

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

namespace input_trace {
thread_local constinit InputListener* listener = nullptr;
}

std::string_view stage_name(InputStage stage) {
  constexpr std::array<std::string_view, input_stages> names{"read",   "decompress", "decode", "augment",
                                                             "gather", "transform",  "wait"};
  return names[static_cast<std::size_t>(stage)];
}

}  // namespace trainlab
