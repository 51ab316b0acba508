// GPUs of NVIDIA as devices of the engine, on the half of LibTorch that is made for CUDA.
#pragma once

namespace trainlab::cuda {

// Looks for GPUs, loads LibTorch's CUDA half where there is one, and adds the kind "cuda". Raises Error{usage} where
// there are GPUs that cannot be used: a driver that is too old or fails, an architecture that is too old, LibTorch's
// CUDA half or one of its libraries that is missing or of another version. Where there is no GPU, the kind has no
// devices, and what is missing stands in its messages. Called once, before the first tensor on a GPU.
void add_cuda();

}  // namespace trainlab::cuda
