// An optimizer whose state lies in a file, for models whose state does not fit into memory (memory.offload).
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "optim/optimizer.h"

namespace trainlab {

// The optimizer of a spec for one model on the CPU, with its state in a file without a name in `folder`
// (core/scratch_file.h); the weights have the same bits as with the state in memory. Where the optimizer can step
// parameter by parameter, a step goes through the state part by part: while a part is updated, the next part is read,
// and the part before is written. Error{run} where the disk is full, and from state() where the disk has failed to keep
// the state.
std::unique_ptr<Optimizer> make_offloaded_optimizer(const Options& spec, std::vector<OptimizedParameter> parameters,
                                                    const std::filesystem::path& folder);

}  // namespace trainlab
