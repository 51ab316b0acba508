// The kernels that draw: a thread for each block of draw_blocks.h.
#pragma once

#include <cuda_runtime_api.h>

#include "draw_blocks.h"

namespace trainlab::cuda {

// Begins to write all elements, behind what the stream of the current device has to do. `Blocks` is a struct of
// draw_blocks.h for float or double, whose memory is the device's. The status is that of the launch alone.
template <class Blocks>
cudaError_t launch(const Blocks& blocks, cudaStream_t stream);

}  // namespace trainlab::cuda
