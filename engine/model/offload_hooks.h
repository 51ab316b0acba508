#pragma once

#include <torch/csrc/autograd/saved_variable_hooks.h>

#include <memory>

namespace trainlab {

// The object that takes a tensor which autograd keeps now, where an OffloadActivations guard is there
// (model/offload.h); else null.
std::unique_ptr<torch::autograd::SavedVariableHooks> offload_hooks();

}  // namespace trainlab
