#include <catch2/catch.hpp>

#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>

#include "tensor/types.h"

using namespace trainlab;

TEST_CASE("shapes as text and as counts") {
  CHECK(shape_text({32, 1, 8, 8}) == "[32, 1, 8, 8]");
  CHECK(shape_text({}) == "[]");
  CHECK(element_count({32, 1, 8, 8}) == 2048);
  CHECK(element_count({}) == 1);
  CHECK(element_count({3, 0}) == 0);
}

TEST_CASE("dtypes are named as in PyTorch, and back") {
  for (const char* name :
       {"float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"}) {
    CHECK(dtype_name(parse_dtype(name)) == name);
  }
  CHECK(parse_dtype("float64") == at::kDouble);
  try {
    parse_dtype("float");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::recipe);
    CHECK_THAT(error.what(), Catch::Contains("\"float\"") && Catch::Contains("float32"));
  }
}

TEST_CASE("devices") {
  CHECK(parse_device("cpu") == at::Device(at::kCPU));
  // The test program is linked to the CPU half of LibTorch, so there is no GPU for it on any machine.
  CHECK(parse_device("auto") == at::Device(at::kCPU));
  for (const char* name : {"cuda", "cuda:1", "gpu", "cuda:", "cuda:-1", "cuda:1x", ""}) {
    INFO(name);
    try {
      parse_device(name);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      CHECK_FALSE(error.hint().empty());
    }
  }
}

TEST_CASE("an operator's error is an Error without its backtrace") {
  const at::Tensor a = at::empty({2, 3}), b = at::empty({2, 3});
  try {
    with_torch_errors([&] { return at::matmul(a, b); });
    FAIL("multiplied");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::recipe);
    CHECK_THAT(error.what(), Catch::Contains("2x3"));
    CHECK_THAT(error.what(), !Catch::Contains("frame #"));
  }
}
