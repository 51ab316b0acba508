#include <catch2/catch.hpp>

#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>

#include "tensor/operator_errors.h"
#include "tensor/tensor_object.h"
#include "tensor/text.h"
#include "tensor/types.h"

namespace trainlab::types_test {

TEST_CASE("shapes as text and as counts") {
  CHECK(shape_text({32, 1, 8, 8}) == "[32, 1, 8, 8]");
  CHECK(shape_text({}) == "[]");
  CHECK(element_count({32, 1, 8, 8}) == 2048);
  CHECK(element_count({}) == 1);
  CHECK(element_count({3, 0}) == 0);
}

TEST_CASE("dtypes are named as in PyTorch") {
  CHECK(dtype_name(at::kFloat) == "float32");
  CHECK(dtype_name(at::kDouble) == "float64");
  CHECK(dtype_name(at::kBFloat16) == "bfloat16");
  CHECK(dtype_name(at::kLong) == "int64");
  CHECK(dtype_name(at::kByte) == "uint8");
  CHECK(dtype_name(at::kBool) == "bool");
}

TEST_CASE("what a recipe's function gave is named by its kind") {
  class Other : public Object {
    std::string_view type_name() const override { return "batch"; }
  };
  CHECK(found_text(Value()) == "nil");
  CHECK(found_text(Value(0.5)) == "0.5");
  CHECK(found_text(std::make_shared<TensorObject>(at::empty({2, 3}))) == "a tensor of shape [2, 3] (float32)");
  CHECK(found_text(std::make_shared<Other>()) == "an object of type batch");
  CHECK(found_text(std::shared_ptr<Object>()) == "nil");
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

TEST_CASE("a tensor for which there is no memory is a failure of the run, not of the recipe") {
  try {
    with_torch_errors([] { return at::empty({std::int64_t{1} << 46}); });  // more than addresses reach
    FAIL("allocated");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::run);
    CHECK(error.lacks_memory());
    CHECK_THAT(
        error.message(),
        Catch::StartsWith("out of memory: a tensor of 281474976710656 bytes could not be had; the process may ") &&
            Catch::Contains(" GiB, of which tensors hold 0.0 GiB"));
  }
  const Error on_device =
      torch_error(c10::OutOfMemoryError({}, "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has …"));
  CHECK(on_device.message() == "out of memory: a tensor of 2.00 GiB could not be had");
  CHECK(on_device.lacks_memory());
  CHECK_FALSE(torch_error(c10::Error({}, "sizes differ")).lacks_memory());
}

TEST_CASE("whatever an operator raises has words for the recipe's author") {
  const auto words = [](auto&& raise) {
    try {
      with_operator_errors(raise);
    } catch (const Error& error) {
      return std::to_string(static_cast<int>(error.kind())) + " " + error.message();
    }
    return std::string("nothing");
  };
  CHECK(words([] { std::vector<int>().at(3); }) ==
        "1 LibTorch cannot compute this with these arguments: vector::_M_range_check: __n (which is 3) >= this->size() "
        "(which is 0)");
  CHECK(words([] { TORCH_INTERNAL_ASSERT(false, "linalg.eig: argument 4 has an illegal value"); }) ==
        "1 LibTorch cannot compute this with these arguments: linalg.eig: argument 4 has an illegal value");
  CHECK(words([] {
          TORCH_INTERNAL_ASSERT(false,
                                "torch.linalg.lstsq: Argument 4 has illegal value. Most certainly there is a bug ",
                                "in the implementation calling the backend library.");
        }) ==
        "1 LibTorch cannot compute this with these arguments: torch.linalg.lstsq takes no value that is NaN or "
        "infinite");
  const int axes = 3;
  CHECK(words([&] { TORCH_INTERNAL_ASSERT(axes == 2); }) ==
        "1 LibTorch cannot compute this with these arguments: a check of its own has failed: axes == 2");
  CHECK(words([] { TORCH_CHECK(false, "Input type (c10::BFloat16) and bias type (c10::complex<float>)"); }) ==
        "1 Input type (bfloat16) and bias type (complex64)");
  CHECK(words([] { TORCH_CHECK(false, "no such shape\nException raised from f at g.cpp:35\nframe #0: h"); }) ==
        "1 no such shape");
  CHECK(words([&] { TORCH_CHECK(axes == 2); }) == "1 Expected axes == 2 to be true, but got false.");
  CHECK_THAT(words([] { throw std::bad_alloc(); }), Catch::StartsWith("3 out of memory; the process may use "));
  CHECK(words([] { throw usage_error("no such device"); }) == "2 no such device");
}

TEST_CASE("a kernel that has met a label beyond its range says so, and any failed device how the run goes on") {
  const auto error_for = [](const std::string& text) {
    return torch_error(
        c10::AcceleratorError({__func__, __FILE__, __LINE__}, 0, text + "\nhow LibTorch's developers look"));
  };
  const Error asserted = error_for("CUDA error: device-side assert triggered");
  CHECK(asserted.message() == "the device has failed: CUDA error: device-side assert triggered");
  CHECK_THAT(asserted.hint(), Catch::Contains("--device cpu the message says which") && Catch::Contains("resumed"));
  CHECK_THAT(error_for("CUDA error: unknown error").hint(),
             Catch::StartsWith("a run goes on from its last checkpoint"));
}

}  // namespace trainlab::types_test
