// The options that init.weights and warm_start have alike.
#pragma once

#include "core/registry.h"

namespace trainlab {

inline Option except_option() {
  return Option("except", "patterns of names of tensors that keep the model's own initial values").string().many();
}

inline Option model_option() { return Option("model", "name of the model, if the run has several").string(); }

inline Option partial_option() {
  return Option("partial",
                "take the tensors with the same name and shape, and report the others; otherwise a tensor that is "
                "missing is an error")
      .boolean()
      .or_default(false);
}

}  // namespace trainlab
