#include "formats/idx.h"

#include <cstring>

#include "support/data_support.h"

namespace trainlab::idx_test {

using namespace test;

namespace {

IdxArray read(const std::string& bytes) {
  InputFile file(bytes, "a.idx");
  return read_idx(file);
}

template <class T>
std::vector<T> values_of(const IdxArray& array, std::size_t count) {
  std::vector<T> values(count);
  std::memcpy(values.data(), array.bytes.get(), count * sizeof(T));
  return values;
}

}  // namespace

TEST_CASE("every type is read, in this machine's byte order") {
  using namespace std::string_literals;
  const IdxArray bytes = read(idx_bytes(0x08, {2, 3}, "\x01\x02\x03\xff\x05\x06"));
  CHECK(bytes.sizes == std::vector<std::int64_t>{2, 3});
  CHECK(values_of<std::uint8_t>(bytes, 6) == std::vector<std::uint8_t>{1, 2, 3, 255, 5, 6});
  CHECK(values_of<std::int8_t>(read(idx_bytes(0x09, {2}, "\xff\x7f")), 2) == std::vector<std::int8_t>{-1, 127});
  CHECK(values_of<std::int16_t>(read(idx_bytes(0x0b, {2}, "\x01\x02\xff\xfe"s)), 2) ==
        std::vector<std::int16_t>{258, -2});
  CHECK(values_of<std::int32_t>(read(idx_bytes(0x0c, {1}, "\x01\x02\x03\x04")), 1) ==
        std::vector<std::int32_t>{16909060});
  CHECK(values_of<float>(read(idx_bytes(0x0d, {1}, "\xc0\x20\x00\x00"s)), 1) == std::vector<float>{-2.5f});
  CHECK(values_of<double>(read(idx_bytes(0x0e, {1}, "\x3f\xf8\x00\x00\x00\x00\x00\x00"s)), 1) ==
        std::vector<double>{1.5});
}

TEST_CASE("a file cut at any byte is an error, plain and gzip") {
  const std::string plain = idx_bytes(0x0b, {2, 3}, "abcdefghijkl");
  for (std::size_t length = 0; length < plain.size(); ++length) {
    const Error error = error_of([&] { read(plain.substr(0, length)); });
    REQUIRE(error.kind() == ErrorKind::recipe);
    REQUIRE(contains(error.message(), "a.idx: "));
  }
  const std::string packed = gzipped(plain);
  for (std::size_t length = 0; length < packed.size(); ++length)
    REQUIRE(error_of([&] { read(packed.substr(0, length)); }).kind() == ErrorKind::recipe);
  CHECK(read(packed).sizes == std::vector<std::int64_t>{2, 3});
}

TEST_CASE("messages say what the header promises and what is there") {
  CHECK(error_of([] { read(""); }).message() == "a.idx: the file is empty; an IDX file was expected");
  CHECK(contains(error_of([] { read("P6 255 255"); }).message(), "not an IDX file: it begins with 50 36 20 32"));
  CHECK(contains(error_of([] { read(idx_bytes(0x07, {1}, "a")); }).message(), "begins with 00 00 07 01"));
  CHECK(contains(error_of([] { read(idx_bytes(0x08, {}, "a")); }).message(), "begins with 00 00 08 00"));
  CHECK(error_of([] {
          read(idx_bytes(0x08, {3, 0, 2}, ""));
        }).message() == "a.idx: the file holds no values (its header says 3 x 0 x 2)");
  CHECK(error_of([] {
          read(idx_bytes(0x08, {2, 2}, "abcde"));
        }).message() == "a.idx: the header promises 2 x 2 values of uint8 (4 bytes), but more bytes follow than that");
  CHECK(error_of([] {
          read(gzipped(idx_bytes(0x08, {2, 4}, "abcde")));
        }).message() == "a.idx: the header promises 2 x 4 values of uint8 (8 bytes), but only 5 bytes follow it");
  CHECK(error_of([] {
          read(idx_bytes(0x08, {2, 4}, "abcde"));
        }).message() ==
        "a.idx: the header promises 2 x 4 values of uint8, but 5 bytes are the most that can follow it");
}

TEST_CASE("a header that lies asks for no memory") {
  // 2^128 values, and 2^32 − 1 values: neither fits into the file.
  for (const auto& sizes : {std::vector<std::uint32_t>(4, 0xffffffff), std::vector<std::uint32_t>{0xffffffff}}) {
    for (const std::string& bytes : {idx_bytes(0x08, sizes, "abc"), gzipped(idx_bytes(0x08, sizes, "abc"))})
      CHECK(contains(error_of([&] { read(bytes); }).message(), "are the most that can follow"));
  }
  const std::string many(255 * 4, '\xff');
  CHECK(contains(error_of([&] { read(std::string("\0\0\x08\xff", 4) + many); }).message(),
                 "are the most that can follow"));
}

TEST_CASE("a header with any byte changed never crashes") {
  const std::string good = idx_bytes(0x08, {2, 3}, "abcdef");
  for (std::size_t place = 0; place < 12; ++place) {
    for (int value = 0; value < 256; ++value) {
      std::string bad = good;
      bad[place] = static_cast<char>(value);
      if (bad == good) continue;
      try {
        // What passes has another shape or type of the same number of bytes.
        const IdxArray array = read(bad);
        REQUIRE(place == 2);
        REQUIRE(array.type == IdxType::int8);
      } catch (const Error& error) {
        REQUIRE(error.kind() == ErrorKind::recipe);
      }
    }
  }
}

}  // namespace trainlab::idx_test
