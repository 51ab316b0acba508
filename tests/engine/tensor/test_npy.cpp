#include "tensor/npy.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "core/error.h"
#include "tensor/types.h"

namespace trainlab::npy_test {

namespace {

// As NumPy 2.4 wrote them (tests/fuzz/corpus.py).
std::string corpus(const std::string& name) {
  std::ifstream file(TRAINLAB_SOURCE_DIR "/tests/fuzz/corpus/npy/" + name, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

at::Tensor loaded(const std::string& name) { return load_npy(corpus(name), name); }

std::string npy(const std::string& header, const std::string& values = "") {
  return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size() & 255) +
         static_cast<char>(header.size() >> 8) + header + values;
}

std::string refused(const std::string& bytes) {
  try {
    load_npy(bytes, "x.npy");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::recipe);
    return error.message();
  }
  FAIL("not refused");
  return "";
}

using Catch::Matchers::Contains;

}  // namespace

TEST_CASE("npy: what NumPy wrote") {
  CHECK(at::equal(loaded("f4"), at::arange(6, at::kFloat).reshape({2, 3})));
  CHECK(at::equal(loaded("fortran"), at::arange(6, at::kShort).reshape({2, 3})));
  CHECK(loaded("fortran").is_contiguous());
  CHECK(at::equal(loaded("big"), at::arange(3, at::kDouble)));
  CHECK(at::equal(loaded("bool"), at::tensor({1, 0}).to(at::kBool)));
  CHECK(loaded("scalar").dim() == 0);
  CHECK(loaded("scalar").item<int>() == 3);
  CHECK(loaded("complex").item<c10::complex<float>>() == c10::complex<float>(1, 2));
  CHECK(loaded("version2").scalar_type() == at::kUInt16);
  CHECK(loaded("empty").sizes() == at::IntArrayRef({0, 3}));
}

TEST_CASE("npy: a file is written as NumPy writes it, and read back") {
  CHECK(npy_bytes(at::arange(6, at::kFloat).reshape({2, 3}), "x") == corpus("f4"));
  CHECK(npy_bytes(at::arange(6, at::kFloat).reshape({3, 2}).t(), "x") ==
        npy_bytes(at::tensor({0.f, 2.f, 4.f, 1.f, 3.f, 5.f}).reshape({2, 3}), "x"));
  for (const at::ScalarType type :
       {at::kBool, at::kByte, at::kChar, at::kShort, at::kInt, at::kLong, at::kHalf, at::kFloat, at::kDouble}) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{2, 3, 1}, Shape{0, 2}}) {
      const at::Tensor values = at::arange(element_count(shape), at::kLong).remainder(2).reshape(shape).to(type);
      const at::Tensor back = load_npy(npy_bytes(values, "x"), "x");
      CHECK(back.scalar_type() == type);
      CHECK(at::equal(back, values));
    }
  }
  CHECK_THROWS_WITH(npy_bytes(at::arange(2, at::kBFloat16), "w"),
                    Contains("npy files cannot hold bfloat16, the dtype of 'w'"));
}

TEST_CASE("npy: what is refused") {
  CHECK_THAT(refused(""), Contains("does not begin with"));
  CHECK_THAT(refused("\x80\x04\x95."), Contains("a Python pickle, which can run any code and is never executed"));
  CHECK_THAT(refused(corpus("object")), Contains("Python objects: a pickle"));
  CHECK_THAT(refused(corpus("record")), Contains("an array of records"));
  CHECK_THAT(refused(corpus("huge")), Contains("needs more than 2^63 bytes, 0 follow"));
  const std::string whole = corpus("f4");
  for (const std::size_t length : {7u, 9u, 60u, 127u, 128u, 151u})
    CHECK_THAT(refused(whole.substr(0, length)), Contains("x.npy: not a valid npy file"));
  CHECK_THAT(refused(whole + "x"), Contains("its shape [2, 3] needs 24 bytes, 25 follow"));
  std::string version = whole;
  version[6] = 9;
  CHECK_THAT(refused(version), Contains("version 9 is unknown"));
  CHECK_THAT(refused(std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12)), Contains("a header of 4294967295 bytes"));

  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
  CHECK(load_npy(npy(good, "abcd"), "x").numel() == 1);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string header = good;
    header.replace(header.find(from), from.size(), to);
    return refused(npy(header, "abcd"));
  };
  CHECK_THAT(with("<f4", "<M8[ns]"), Contains("dtype '<M8[ns]' cannot be a tensor"));
  CHECK_THAT(with("<f4", "?f4"), Contains("cannot be a tensor"));
  CHECK_THAT(with("False", "0"), Contains("neither True nor False"));
  CHECK_THAT(with("(1,)", "(-1,)"), Contains("something else than sizes"));
  CHECK_THAT(with("(1,)", "(1"), Contains("header is damaged"));
  CHECK_THAT(with("'shape'", "'shap'"), Contains("unexpected key 'shap'"));
  CHECK_THAT(with("'shape'", "'descr'"), Contains("unexpected key 'descr'"));
  CHECK_THAT(with("}", "} import os"), Contains("something follows its end"));
  CHECK_THAT(with("'shape': (1,), ", ""), Contains("is missing"));
  CHECK_THAT(refused(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", "\2")),
             Contains("neither 0 nor 1"));
}

}  // namespace trainlab::npy_test
