#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>

#include "core/error.h"
#include "core/files.h"
#include "support/stand_in_device.h"
#include "tensor/safetensors.h"

namespace trainlab::safetensors_test {

namespace {

const std::filesystem::path file = "t.safetensors";

std::string with_length(std::uint64_t length, const std::string& header, const std::string& data = "") {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

std::string with_header(const std::string& header, const std::string& data = "") {
  return with_length(header.size(), header, data);
}

std::string error_of(const std::string& bytes) {
  write_atomic(file, bytes);
  try {
    load_safetensors(file);
  } catch (const Error& error) {
    REQUIRE(error.kind() == ErrorKind::recipe);
    REQUIRE(error.message().find("t.safetensors") != std::string::npos);
    REQUIRE(error.message().size() < 300);
    return error.message();
  }
  return "";
}

std::string hint_of(const std::string& bytes) {
  write_atomic(file, bytes);
  try {
    load_safetensors(file);
  } catch (const Error& error) {
    return error.hint();
  }
  return "";
}

// The header of one tensor "a", and eight bytes of data.
std::string error_of_tensor(const std::string& entry) {
  return error_of(with_header("{\"a\":" + entry + "}", "01234567"));
}

NamedTensors all_dtypes() {
  NamedTensors tensors;
  for (const auto type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong, at::kInt, at::kShort, at::kChar,
                          at::kByte, at::kBool})
    tensors[c10::toString(type)] = at::arange(6, at::kFloat).remainder(2).to(type).view({2, 3});
  tensors["scalar"] = at::ones({}, at::kDouble).mul(2.5);
  tensors["empty"] = at::empty({3, 0, 2});
  for (auto& [name, tensor] : tensors) tensor = tensor.to(test::test_device());
  return tensors;
}

class CountingCalls : public FileCalls {
 public:
  std::int64_t write(int fd, std::string_view bytes) override {
    written.push_back(bytes.data());
    if (fail) {
      errno = ENOSPC;
      return -1;
    }
    return FileCalls::write(fd, bytes);
  }
  std::vector<const char*> written;
  bool fail = false;
};

}  // namespace

TEST_CASE("safetensors: what is saved comes back, of every dtype") {
  const NamedTensors saved = all_dtypes();
  const Metadata metadata{{"format", "pt"}, {"quote\"", "naïve\n"}};
  save_safetensors(file, saved, metadata);
  const LoadedTensors loaded = load_safetensors(file);
  CHECK(loaded.metadata == metadata);
  REQUIRE(loaded.tensors.size() == saved.size());
  for (const auto& [name, tensor] : saved) {
    INFO(name);
    const at::Tensor& back = loaded.tensors.at(name);
    CHECK(back.scalar_type() == tensor.scalar_type());
    CHECK(back.sizes() == tensor.sizes());
    CHECK(at::equal(back, tensor.cpu()));
  }
}

TEST_CASE("safetensors: no tensors and no metadata") {
  save_safetensors(file, {});
  CHECK(load_safetensors(file).tensors.empty());
  CHECK(load_safetensors(file).metadata.empty());
}

TEST_CASE("safetensors: the bytes are those of the format") {
  // Written by hand as the format's documentation describes it; Python's implementation writes the same but for the
  // width of the padding.
  const std::string header = R"({"__metadata__":{"k":"v"},"b":{"data_offsets":[0,8],"dtype":"F32","shape":[2]},)"
                             R"("a":{"data_offsets":[8,9],"dtype":"U8","shape":[]}} )";
  write_atomic(file, with_header(header, std::string("\0\0\x80\x3f\0\0\0\xc0\x07", 9)));
  const LoadedTensors loaded = load_safetensors(file);
  CHECK(loaded.metadata == Metadata{{"k", "v"}});
  CHECK(loaded.tensors.at("b").const_data_ptr<float>()[0] == 1.0f);
  CHECK(loaded.tensors.at("b").const_data_ptr<float>()[1] == -2.0f);
  CHECK(loaded.tensors.at("a").const_data_ptr<std::uint8_t>()[0] == 7);

  save_safetensors(file, loaded.tensors, loaded.metadata);
  const std::string bytes = read_file(file);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  CHECK((length + 8) % 64 == 0);
  const std::string saved_header = bytes.substr(8, length);
  // The name's order says a, b; the alignment of float32 says b, a.
  CHECK(saved_header.substr(0, saved_header.find_last_not_of(' ') + 1) ==
        R"({"__metadata__":{"k":"v"},"a":{"data_offsets":[8,9],"dtype":"U8","shape":[]},)"
        R"("b":{"data_offsets":[0,8],"dtype":"F32","shape":[2]}})");
  CHECK(bytes.substr(8 + length) == std::string("\0\0\x80\x3f\0\0\0\xc0\x07", 9));
}

TEST_CASE("safetensors: a file that Python's package would write is read") {
  const LoadedTensors loaded =
      load_safetensors(std::filesystem::path(TRAINLAB_SOURCE_DIR) / "tests/golden/python.safetensors");
  CHECK(loaded.metadata == Metadata{{"format", "pt"}});
  CHECK(at::equal(loaded.tensors.at("model.1.weight"), at::arange(6, at::kFloat).view({2, 3}).div(4)));
  CHECK(at::equal(loaded.tensors.at("steps"), at::arange(3, at::kLong)));
  CHECK(at::equal(loaded.tensors.at("mask"), at::arange(3, at::kLong).eq(1)));
  CHECK(at::equal(loaded.tensors.at("half"), at::arange(5, at::kFloat).div(8).to(at::kHalf)));
}

TEST_CASE("safetensors: equal tensors give equal bytes, strides and all, and the returned hash is the file's") {
  const at::Tensor matrix = at::arange(12, at::kFloat).view({3, 4});
  const std::string first = save_safetensors("one.safetensors", {{"w", matrix.t()}, {"v", matrix.select(1, 2)}});
  const std::string second =
      save_safetensors("two.safetensors", {{"w", matrix.t().contiguous()}, {"v", matrix.select(1, 2).contiguous()}});
  CHECK(first == second);
  CHECK(first == hash_file("one.safetensors"));
  CHECK(read_file("one.safetensors") == read_file("two.safetensors"));
  CHECK(at::equal(load_safetensors("one.safetensors").tensors.at("w"), matrix.t()));
}

TEST_CASE("safetensors: contiguous tensors are written from where they lie") {
  CountingCalls calls;
  const ScopedFileCalls scope(calls);
  const at::Tensor tensor = at::ones({1000});
  save_safetensors(file, {{"a", tensor}});
  CHECK(std::ranges::count(calls.written, static_cast<const char*>(tensor.const_data_ptr())) == 1);
}

TEST_CASE("safetensors: a full disk leaves the old file") {
  save_safetensors(file, {{"a", at::ones({4})}});
  const std::string before = read_file(file);
  CountingCalls calls;
  calls.fail = true;
  {
    const ScopedFileCalls scope(calls);
    CHECK_THROWS_AS(save_safetensors(file, {{"a", at::zeros({4})}}), Error);
  }
  CHECK(read_file(file) == before);
}

TEST_CASE("safetensors: a dtype that the format lacks is refused before anything is written") {
  CHECK_THROWS_WITH(save_safetensors("complex.safetensors", {{"z", at::zeros({2}, at::kComplexFloat)}}),
                    Catch::Contains("'z'"));
  CHECK_FALSE(std::filesystem::exists("complex.safetensors"));
}

TEST_CASE("safetensors: a file cut anywhere is an error that names it") {
  save_safetensors(file, all_dtypes(), {{"a", "b"}});
  const std::string bytes = read_file(file);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    INFO(n);
    CHECK(error_of(bytes.substr(0, n)) != "");
  }
  CHECK(error_of(bytes) == "");
  CHECK_THAT(error_of(bytes + "x"), Catch::Contains("end at byte"));
}

TEST_CASE("safetensors: lying headers") {
  CHECK_THAT(error_of(with_length(std::uint64_t{1} << 40, "{}")), Catch::Contains("1099511627776"));
  CHECK_THAT(error_of(with_length(~std::uint64_t{0}, "{}")), Catch::Contains("18446744073709551615"));
  for (const char* first : {"\x80\x04\x95", "PK\3\4"}) {
    const std::string bytes = first + std::string(100, 'x');
    CHECK_THAT(error_of(bytes), Catch::Contains("PyTorch's pickle format"));
    CHECK_THAT(hint_of(bytes), Catch::Contains("trainlab reads safetensors"));
  }
  CHECK_THAT(error_of(with_length(100'000'001, "{}")), Catch::Contains("at most 100000000"));
  CHECK_THAT(error_of(with_length(3, "{}")), Catch::Contains("cut short"));
  CHECK_THAT(error_of(with_length(0, "")), Catch::Contains("JSON"));
  CHECK_THAT(error_of(with_header("[]")), Catch::Contains("object"));
  CHECK_THAT(error_of(with_header("{")), Catch::Contains("JSON"));
  CHECK_THAT(error_of(with_header("{}x")), Catch::Contains("JSON"));
  CHECK_THAT(error_of(with_header("{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}")),
             Catch::Contains("deep"));
  CHECK_THAT(error_of(with_header(R"({"__metadata__":{"a":1}})")), Catch::Contains("strings"));
  CHECK_THAT(error_of(with_header(R"({"__metadata__":3})")), Catch::Contains("__metadata__"));
  CHECK_THAT(error_of(with_header("{}", "data")), Catch::Contains("end at byte 0 of 4"));
}

TEST_CASE("safetensors: lying tensors") {
  CHECK(error_of_tensor(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})") == "");
  const auto wrong = [](const std::string& entry, const std::string& part) {
    INFO(entry);
    const std::string message = error_of_tensor(entry);
    CHECK_THAT(message, Catch::Contains("'a'") && Catch::Contains(part));
  };
  wrong("3", "object");
  wrong("{}", "dtype");
  wrong(R"({"dtype":"F33","shape":[2],"data_offsets":[0,8]})", "\"F33\"");
  wrong(R"({"dtype":3,"shape":[2],"data_offsets":[0,8]})", "dtype 3");
  wrong(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})", "-2");
  wrong(R"({"dtype":"F32","shape":[2.5],"data_offsets":[0,8]})", "2.5");
  wrong(R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})", "shape");
  wrong(R"({"dtype":"F32","data_offsets":[0,8]})", "shape");
  wrong(R"({"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,8]})", "too large");
  wrong(R"({"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,8]})", "too large");
  wrong(R"({"dtype":"U8","shape":[0,4294967296,4294967296],"data_offsets":[0,8]})", "too large");
  wrong(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})", "needs 12 bytes");
  wrong(R"({"dtype":"F32","shape":[2],"data_offsets":[0,9]})", "do not lie");
  wrong(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})", "do not lie");
  wrong(R"({"dtype":"F32","shape":[2],"data_offsets":[-8,0]})", "do not lie");
  wrong(R"({"dtype":"F32","shape":[2],"data_offsets":[0,1e300]})", "two data_offsets");
  wrong(R"({"dtype":"F32","shape":[2],"data_offsets":[0]})", "two data_offsets");
  wrong(R"({"dtype":"F32","shape":[2]})", "two data_offsets");
  wrong(R"({"dtype":"U8","shape":[7],"data_offsets":[1,8]})", "gap");
  wrong(R"({"dtype":"BOOL","shape":[8],"data_offsets":[0,8]})", "neither 0 nor 1");
  std::string ones = "1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  wrong(R"({"dtype":"F64","shape":[)" + ones + R"(],"data_offsets":[0,8]})", "axes");
}

TEST_CASE("safetensors: tensors that overlap or leave a gap") {
  const auto pair = [](const std::string& first, const std::string& second) {
    return error_of(with_header(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + first +
                                    R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}",
                                "01234567"));
  };
  CHECK(pair("[0,4]", "[4,8]") == "");
  CHECK(pair("[4,8]", "[0,4]") == "");
  CHECK_THAT(pair("[0,4]", "[3,7]"), Catch::Contains("inside"));
  CHECK_THAT(pair("[0,4]", "[0,4]"), Catch::Contains("inside"));
  CHECK_THAT(error_of(with_header(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                                  R"("b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
                                  "01234567")),
             Catch::Contains("gap"));
  CHECK_THAT(error_of(with_header(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                                  R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})")),
             Catch::Contains("twice"));
}

TEST_CASE("safetensors: a missing file and a folder") {
  CHECK_THROWS_WITH(load_safetensors("not-there.safetensors"), Catch::Contains("not-there.safetensors"));
  CHECK_THROWS_WITH(load_safetensors("."), Catch::Contains("cannot read"));
}

}  // namespace trainlab::safetensors_test
