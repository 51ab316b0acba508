// LibTorch's warnings speak to users of its own language, and go raw to standard error.
#pragma once

#include <c10/util/Exception.h>

namespace trainlab {

// While this lives, the warnings that LibTorch gives on this thread are dropped.
class NoTorchWarnings {
 private:
  struct Dropped final : c10::WarningHandler {
    void process(const c10::Warning& /*warning*/) override {}
  };
  static inline Dropped dropped_;
  c10::WarningUtils::WarningHandlerGuard guard_{&dropped_};
};

}  // namespace trainlab
