// The GPUs of this machine, and whether they and LibTorch's CUDA half can be used. The functions raise Error{usage}.
#pragma once

#include <string>

namespace trainlab::cuda {

struct Gpus {
  int count = 0;
  std::string none;  // the reason if there are no GPUs
};

// Counts the GPUs. Raises where the driver is too old or fails.
Gpus find_gpus();

// Raises where one of the GPUs has an architecture that neither LibTorch's kernels nor the engine's are compiled for.
void check_architectures(int gpus);

// Loads libtorch_cuda.so, which brings LibTorch's operators, allocators and streams for GPUs. The library is taken
// from the folder of the libtorch_cpu.so that the engine has loaded, so that both are of the same build.
void load_torch_for_gpus();

}  // namespace trainlab::cuda
