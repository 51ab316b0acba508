#include "formats/csv.h"

#include "formats/input_file.h"
#include "support/data_support.h"

namespace trainlab::csv_test {

using namespace test;

namespace {

std::vector<std::vector<std::string>> rows_of(const std::string& text, char delimiter = ',') {
  const CsvText csv = read_csv(text, delimiter, "t.csv");
  std::vector<std::vector<std::string>> rows{csv.header};
  for (std::int64_t row = 0; row < csv.rows(); ++row) {
    rows.emplace_back();
    for (std::size_t column = 0; column < csv.header.size(); ++column) rows.back().emplace_back(csv.field(row, column));
  }
  return rows;
}

using Rows = std::vector<std::vector<std::string>>;

std::string message_of(const std::string& text) {
  return error_of([&] { read_csv(text, ',', "t.csv"); }).message();
}

}  // namespace

TEST_CASE("fields, quotes and line ends") {
  CHECK(rows_of("a,b\n1,2\n3,4\n") == Rows{{"a", "b"}, {"1", "2"}, {"3", "4"}});
  CHECK(rows_of("a,b\r\n1,2\r\n3,4") == Rows{{"a", "b"}, {"1", "2"}, {"3", "4"}});
  CHECK(rows_of("\xef\xbb\xbf"
                "a,b\n,\n") == Rows{{"a", "b"}, {"", ""}});
  CHECK(rows_of("a;b\n1,5;2\n", ';') == Rows{{"a", "b"}, {"1,5", "2"}});
  CHECK(rows_of("a\tb\n\t2\n", '\t') == Rows{{"a", "b"}, {"", "2"}});
  CHECK(rows_of(" a , b\n 1 ,\t2 \n") == Rows{{"a", "b"}, {"1", "2"}});
  CHECK(rows_of("a,b\n\n\r\n1,2\n\n") == Rows{{"a", "b"}, {"1", "2"}});
  CHECK(rows_of("\"x, y\",b\n\"say \"\"hi\"\"\",\"two\nlines\"\n\"\",\"\"\"\"\n") ==
        Rows{{"x, y", "b"}, {"say \"hi\"", "two\nlines"}, {"", "\""}});
  CHECK(rows_of("a,b\nit's 5\" wide,\" kept \"\n") == Rows{{"a", "b"}, {"it's 5\" wide", " kept "}});
}

TEST_CASE("lines are counted as an editor does") {
  const CsvText csv = read_csv("a,b\n1,\"x\ny\"\n\n2,z\n", ',', "t.csv");
  CHECK(csv.lines == std::vector<std::int64_t>{2, 5});
}

TEST_CASE("what is wrong is named with its line") {
  CHECK(message_of("") == "t.csv: the file is empty; a line with the columns' names was expected");
  CHECK(message_of("\n\n") == "t.csv: the file is empty; a line with the columns' names was expected");
  CHECK(message_of("a,b\n") == "t.csv: the file has a header but no rows");
  CHECK(message_of("a,b\n1,2\n\"x\ny\"\n") == "t.csv:3: expected 2 fields as in the header, found 1");
  CHECK(message_of("a\n1\n2,3\n") == "t.csv:3: expected 1 field as in the header, found 2");
  CHECK(message_of("a,b,a\n1,2,3\n") == "t.csv:1: columns 1 and 3 are both named \"a\"");
  CHECK(message_of("a,,b\n1,2,3\n") == "t.csv:1: column 2 has no name");
  CHECK(message_of("a,b\n1,2\n3,\"4\n5,6\n") == "t.csv:3: a quoted field begins here and is never closed");
  CHECK(message_of("a,b\n\"1\"2,3\n") == "t.csv:2: text follows the closing quote of a field");
  CHECK(message_of(std::string("a,b\n1,\0002\n", 9)) == "t.csv:2: a zero byte: this is not a text file");
}

TEST_CASE("the beginning of a file tells that it is no table") {
  const auto refusal = [](const std::string& start, bool is_whole) {
    return error_of([&] { check_csv_start(start, is_whole, "t.csv"); }).message();
  };
  CHECK(refusal(std::string(100, '\0'), false) == "t.csv:1: a zero byte: this is not a text file");
  CHECK(refusal(std::string("a,b\n1,\0", 7), true) == "t.csv:2: a zero byte: this is not a text file");
  CHECK(refusal(std::string(100, 'x'), false) ==
        "t.csv:1: expected a line with the columns' names, found 100 bytes without an end of line");
  CHECK_NOTHROW(check_csv_start("a,b", true, "t.csv"));
  CHECK_NOTHROW(check_csv_start("a,b\n\"open", false, "t.csv"));
}

TEST_CASE("text cut at any byte gives rows or an error, never a crash") {
  const std::string text = "name,\"size, cm\"\r\n\"a \"\"b\"\"\",1.5\r\nc,\"2\n3\"\r\n";
  for (std::size_t length = 0; length <= text.size(); ++length) {
    // A copy of exact size, so that the address sanitizer sees a byte read beyond it.
    const std::vector<char> cut(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length));
    try {
      const CsvText csv = read_csv({cut.data(), cut.size()}, ',', "t.csv");
      REQUIRE(csv.fields.size() == static_cast<std::size_t>(csv.rows()) * csv.header.size());
      REQUIRE(csv.rows() >= 1);
    } catch (const Error& error) {
      REQUIRE(error.kind() == ErrorKind::recipe);
    }
  }
}

TEST_CASE("a compressed table cut at any byte is an error") {
  const std::string packed = gzipped("a,b\n1,2\n3,4\n");
  for (std::size_t length = 0; length < packed.size(); ++length) {
    const Error error = error_of([&] {
      InputFile file(std::string_view(packed).substr(0, length), "t.csv.gz");
      read_csv(file.read_all(1 << 20), ',', "t.csv.gz");
    });
    REQUIRE(error.kind() == ErrorKind::recipe);
  }
}

}  // namespace trainlab::csv_test
