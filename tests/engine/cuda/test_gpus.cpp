// Messages where GPUs, or the libraries that they need, cannot be used. tests/cli/test_cuda.py tries drivers.
#include "gpus.h"

#include <catch2/catch.hpp>
#include <string>

#include "core/error.h"

namespace trainlab::gpus_test {

TEST_CASE("gpus: where LibTorch's CUDA half cannot be used, an error of usage says so and names a way") {
  if (cuda::find_gpus().count > 0) {
    WARN("skipped: there is a GPU");
    return;
  }
  try {
    cuda::load_torch_for_gpus();
    FAIL("it is loaded without a GPU");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    CHECK_THAT(error.message(), Catch::StartsWith("device cuda cannot be used: "));
    CHECK_THAT(error.message(), Catch::Contains("LibTorch's CUDA half"));
    CHECK_THAT(error.hint(), Catch::Contains("TRAINLAB_TORCH=DIR"));
  }
}

}  // namespace trainlab::gpus_test
