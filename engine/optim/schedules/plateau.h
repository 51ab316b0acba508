// sched.plateau: lowers the rate when the monitored value has stopped improving.
#pragma once

#include "core/registry.h"

namespace trainlab {}  // namespace trainlab
