// NVIDIA's GPUs as devices of the engine, which use LibTorch's CUDA libraries.
#pragma once

namespace trainlab::cuda {

// Looks for GPUs, loads LibTorch's CUDA libraries if there is a GPU, and adds the kind "cuda". Raises Error{usage} for
// GPUs that cannot be used, because the driver is too old or fails, the architecture is too old, or one of LibTorch's
// CUDA libraries is missing or of another version. Without a GPU the kind has no devices, and its messages say what is
// missing. Called once, before the first tensor on a GPU.
void add_cuda();

}  // namespace trainlab::cuda
