#include "gpus.h"

#include <ATen/Context.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <filesystem>

#include "core/error.h"

namespace trainlab::cuda {

namespace fs = std::filesystem;

namespace {

// The lowest compute capability, times ten, for which CUDA 13 compiles.
constexpr int least_capability = 75;

Error unusable(const std::string& why) { return usage_error("device cuda cannot be used: " + why); }

// The version as text: the driver and the runtime library number version "13.2" as 13020.
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Error driver_error(cudaError_t status) {
  return unusable(std::string("the driver of NVIDIA fails: ") + cudaGetErrorString(status))
      .hint("nvidia-smi shows whether the driver and the GPU work; --device cpu needs neither");
}

int capability(int gpu) {
  int major = 0, minor = 0;
  cudaError_t status = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu);
  if (status == cudaSuccess) status = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, gpu);
  if (status != cudaSuccess) throw driver_error(status);
  return 10 * major + minor;
}

std::string capability_text(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

// The folder of the real libtorch_cpu.so, with links resolved, since the loader searches LibTorch's own libraries
// relative to this folder.
fs::path folder_of_torch() {
  Dl_info library{};
  const auto* const function = reinterpret_cast<const void*>(&at::globalContext);
  if (::dladdr(function, &library) == 0) throw unusable("the place of libtorch_cpu.so is not known");
  return fs::canonical(library.dli_fname).parent_path();
}

}  // namespace

Gpus find_gpus() {
  int count = 0, driver = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return {count, ""};
  if (status == cudaSuccess || status == cudaErrorNoDevice)
    return {0, "a driver of NVIDIA that shows no GPU to this program"};
  if (status != cudaErrorInsufficientDriver) throw driver_error(status);
  cudaDriverGetVersion(&driver);  // 0 without a driver
  if (driver == 0) return {0, "no driver of NVIDIA (libcuda.so.1 cannot be loaded)"};
  throw unusable("expected a driver of NVIDIA for CUDA " + version_text(CUDART_VERSION) +
                 " or later, found one for CUDA " + version_text(driver))
      .hint("install a newer driver; --device cpu needs none");
}

void check_architectures(int gpus) {
  for (int i = 0; i < gpus; ++i) {
    const int found = capability(i);
    if (found >= least_capability) continue;
    throw unusable("expected GPUs of compute capability " + capability_text(least_capability) +
                   " or later, found number " + std::to_string(i) + " of " + capability_text(found))
        .hint("CUDA_VISIBLE_DEVICES=NUMBERS in the environment hides the other GPUs");
  }
}

void load_torch_for_gpus() {
  const fs::path file = folder_of_torch() / "libtorch_cuda.so";
  const std::string hint =
      "tools/run with TRAINLAB_TORCH=DIR uses the LibTorch of a Python environment in which pip has installed torch "
      "2.11 with all its libraries; --device cpu needs none of them";
  if (!fs::exists(file))
    throw unusable("expected LibTorch's CUDA half, " + file.string() + ", found no such file").hint(hint);
  // LibTorch loads further libraries later, which need the symbols of this one.
  if (::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr)
    throw unusable("LibTorch's CUDA half cannot be loaded: " + std::string(::dlerror())).hint(hint);
  if (!at::Context::hasCUDA()) throw unusable("LibTorch's CUDA half sees no GPU").hint(hint);
}

}  // namespace trainlab::cuda
