#include "formats/input_file.h"

#include "support/data_support.h"

namespace trainlab::input_file_test {

using namespace test;

namespace {

std::string read_all(const std::string& bytes, std::int64_t limit = 1 << 30) {
  InputFile file(bytes, "memory");
  return file.read_all(limit);
}

std::string some_text(std::size_t size) {
  std::string text;
  std::uint32_t state = 1;
  while (text.size() < size) text += std::to_string(state = state * 1664525 + 1013904223) + ",";
  text.resize(size);
  return text;
}

}  // namespace

TEST_CASE("plain and gzip bytes read alike") {
  for (const std::size_t size : {0, 1, 100, 70'000, 3'000'000}) {
    const std::string text = some_text(size);
    CHECK(read_all(text) == text);
    CHECK(read_all(gzipped(text)) == text);
  }
}

TEST_CASE("gzip members that follow each other are one stream") {
  CHECK(read_all(gzipped("one, ") + gzipped("two, ") + gzipped("three")) == "one, two, three");
}

TEST_CASE("a file moved from one place to another goes on where it was") {
  for (const std::string& bytes : {std::string("short"), some_text(5000), gzipped(some_text(5000))}) {
    const std::string path = write_file("moved", bytes);
    InputFile file(path);
    std::string head(3, ' ');
    REQUIRE(file.read(head) == 3);
    InputFile moved(std::move(file));
    CHECK(head + moved.read_all(1 << 20) == read_all(bytes));
  }
}

TEST_CASE("a file is read in pieces of any size") {
  const std::string text = some_text(3'000'000), other = some_text(700'000);
  const std::string path = write_file("pieces", text), packed = write_file("pieces.gz", gzipped(text) + gzipped(other));
  for (const std::size_t piece : {1000, 262'144, 1'000'000, 9'000'000}) {
    for (const auto& [from, whole] : {std::pair{path, text}, {packed, text + other}}) {
      InputFile file(from);
      std::string all, some(piece, ' ');
      for (std::size_t got = piece; got == piece;) {
        REQUIRE(file.at_most() >= static_cast<std::int64_t>(whole.size() - all.size()));
        got = file.read(some);
        all.append(some, 0, got);
      }
      REQUIRE(all == whole);
    }
  }
}

TEST_CASE("memory is asked for before content is read") {
  std::int64_t asked = 0;
  InputFile file(write_file("plain", some_text(1'000'000)));
  std::string text;
  read_text(file, text, [&](std::int64_t bytes) { asked = bytes; });
  CHECK(asked == 1'000'000);
  InputFile refused(write_file("plain", some_text(1'000'000)));
  CHECK_THROWS_AS(refused.read_all(text, 1 << 30, [](std::int64_t) { throw run_error("too much"); }), Error);
}

TEST_CASE("damaged gzip data is an error wherever the damage is") {
  const std::string good = gzipped(some_text(2000));
  SECTION("cut at every byte") {
    for (std::size_t length = 2; length < good.size(); ++length) {
      const Error error = error_of([&] { read_all(good.substr(0, length)); });
      REQUIRE(error.message() == "memory: the gzip data ends too early");
      REQUIRE(error.kind() == ErrorKind::recipe);
    }
  }
  SECTION("a byte changed: another text never passes for the right one") {
    for (std::size_t place = 0; place < good.size(); ++place) {
      std::string bad = good;
      bad[place] = static_cast<char>(bad[place] ^ 0x55);
      try {
        const std::string text = read_all(bad);
        // Only bytes of the header that carry nothing (time, system), or the magic (then it is plain text).
        REQUIRE((text == some_text(2000) || (place < 2 && text == bad)));
        REQUIRE(place < 10);
      } catch (const Error& error) {
        REQUIRE(error.kind() == ErrorKind::recipe);
      }
    }
  }
  SECTION("the checksum and the length at the end") {
    for (const std::size_t from_end : {8, 4}) {
      std::string bad = good;
      bad[bad.size() - from_end] = static_cast<char>(bad[bad.size() - from_end] ^ 1);
      const Error error = error_of([&] { read_all(bad); });
      CHECK(contains(error.message(), from_end == 8 ? "incorrect data check" : "incorrect length check"));
    }
  }
  SECTION("something behind it") {
    const Error error = error_of([&] { read_all(good + "x = 1"); });
    CHECK(error.message() == "memory: 5 bytes that are not gzip follow the end of the gzip data");
  }
}

TEST_CASE("a small file that inflates to more than the limit is refused") {
  const std::string bomb = gzipped(std::string(20'000'000, '\0'));
  REQUIRE(bomb.size() < 30'000);
  const Error error = error_of([&] { read_all(bomb, 1'000'000); });
  CHECK(contains(error.message(), "more than 1000000 bytes"));
}

TEST_CASE("a missing file is reported with what could be meant") {
  std::filesystem::create_directories("folder/empty");
  const std::string folder = std::filesystem::absolute("folder").string();
  write_file("folder/houses.csv.gz", "");
  write_file("folder/prices.csv", "");

  const auto message = [&](const std::string& name) { return error_of([&] { InputFile file(folder + name); }); };
  CHECK(message("/house.csv").message() == "no such file or folder: " + folder + "/house.csv");
  CHECK(message("/houses.csv").hint() == "did you mean " + folder + "/houses.csv.gz?");
  CHECK(message("/price.csv").hint() == "did you mean " + folder + "/prices.csv?");
  CHECK(message("/zebra").hint().empty());
  CHECK(message("/price").hint() == "did you mean " + folder + "/prices.csv?");
  CHECK(message("/empty/x").hint().empty());
  CHECK(message("/no/way/x").hint() == "there is no folder " + folder + "/no");
  CHECK(message("").message() == "expected a file, found the folder " + folder);
}

}  // namespace trainlab::input_file_test
