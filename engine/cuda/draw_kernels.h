// Launches the kernels that draw, with a thread for each block of draw_blocks.h.
#pragma once

#include <cuda_runtime_api.h>

#include "draw_blocks.h"

namespace trainlab::cuda {

// Adds the kernel that writes all elements to the current stream of the current device. `Blocks` is a struct of
// draw_blocks.h for float or double, whose memory is the device's. The returned status is that of the
// launch alone.
template <class Blocks>
cudaError_t launch(const Blocks& blocks, cudaStream_t stream);

}  // namespace trainlab::cuda
