// The kernels that draw. nvcc compiles this file, which includes no header of LibTorch.
#include "draw_kernels.h"

namespace trainlab::cuda {

namespace {

constexpr int threads = 256;

template <class Blocks>
__global__ void write_all(Blocks blocks) {
  const std::int64_t block = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (block * Blocks::each < blocks.count) blocks(block);
}

}  // namespace

template <class Blocks>
cudaError_t launch(const Blocks& blocks, cudaStream_t stream) {
  constexpr std::int64_t elements = std::int64_t{threads} * Blocks::each;
  if (blocks.count == 0) return cudaSuccess;
  write_all<<<static_cast<unsigned>((blocks.count + elements - 1) / elements), threads, 0, stream>>>(blocks);
  return cudaGetLastError();
}

template cudaError_t launch(const UniformBlocks<float>&, cudaStream_t);
template cudaError_t launch(const UniformBlocks<double>&, cudaStream_t);
template cudaError_t launch(const NormalBlocks<float>&, cudaStream_t);
template cudaError_t launch(const NormalBlocks<double>&, cudaStream_t);
template cudaError_t launch(const DropoutBlocks<float>&, cudaStream_t);
template cudaError_t launch(const DropoutBlocks<double>&, cudaStream_t);

}  // namespace trainlab::cuda
