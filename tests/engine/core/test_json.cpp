#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/random/stream.h"
#include "core/value.h"
#include "engine/core/sample_registry.h"

namespace trainlab::json_test {

using sample::error_of;

namespace {

// A tree from keyed draws: every kind of value, awkward texts and numbers.
Value random_value(Stream& stream, int depth) {
  static const std::vector<std::string> texts{"", "a", "ä\n\"\\/", std::string("\0\x1f", 2), "😀", "@at"};
  switch (stream.below(depth > 0 ? 8 : 6)) {
    case 0: return {};
    case 1: return stream.below(2) == 1;
    case 2: return static_cast<std::int64_t>(stream.next_u64());
    case 3: return std::ldexp(stream.normal(), static_cast<int>(stream.below(2000)) - 1000);
    case 4: return std::floor(stream.uniform() * 1e6);
    case 5: return texts[stream.below(texts.size())];
    case 6: {
      Value::List list(stream.below(4));
      for (Value& element : list) element = random_value(stream, depth - 1);
      return list;
    }
    default: {
      Value::Map map;
      for (std::uint64_t i = stream.below(4); i > 0; --i) {
        map.insert_or_assign(texts[stream.below(texts.size())], random_value(stream, depth - 1));
      }
      return map;
    }
  }
}

std::string parse_error(std::string_view text) {
  return error_of([&] { parse_json(text, "x.json"); });
}

}  // namespace

TEST_CASE("JSON gives the same Value back, with and without indentation") {
  Stream stream(Key(1));
  for (int i = 0; i < 2000; ++i) {
    const Value value = random_value(stream, 4);
    const std::string text = to_json(value);
    CAPTURE(text);
    REQUIRE(parse_json(text, "text") == value);
    REQUIRE(parse_json(to_json(value, 2), "text") == value);
    REQUIRE(text.find('\n') == std::string::npos);
  }
}

TEST_CASE("JSON has keys in order, whole doubles with a point, and null for what is no number") {
  Value value;
  value.set("b", 1.0);
  value.set("a", Value::List{1, 1e300, -0.0, std::nan(""), INFINITY, Value::Map{}, Value::List{}});
  CHECK(to_json(value) == R"({"a":[1,1e+300,-0.0,null,null,{},[]],"b":1.0})");
  CHECK(to_json(Value::Map{{"a", Value::List{1, 2}}, {"b", Value::Map{}}}, 2) ==
        "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {}\n}");
}

TEST_CASE("text is escaped where JSON demands it, and stands as it is elsewhere") {
  CHECK(to_json(Value("model[2].ReLU ~")) == R"("model[2].ReLU ~")");
  CHECK(to_json(Value("a\"b\\c\nd\x01")) == R"("a\"b\\c\nd\u0001")");
  CHECK(to_json(Value("\x7fä")) == "\"\x7fä\"");
  CHECK(to_json(Value("")) == R"("")");
}

TEST_CASE("text that is not UTF-8 is refused, not changed") {
  CHECK(error_of([] { to_json(Value("a\xFFz")); }) == R"(text that is stored must be UTF-8, found "a\255z")");
  CHECK(error_of([] { to_json(Value::Map{{"\xED\xA0\x80", 1}}); }).find("UTF-8") != std::string::npos);
  CHECK(to_json(Value(valid_utf8("a\xFFz\xC3"))) == "\"a\uFFFDz\uFFFD\"");
  CHECK(valid_utf8("ä😀") == "ä😀");
}

TEST_CASE("malformed JSON is refused with its place") {
  CHECK(parse_error(R"({"a": })") ==
        "x.json: not valid JSON at byte 7: syntax error while parsing value - unexpected '}'; expected '[', '{', or a "
        "literal");
  CHECK(parse_error("").find("at byte 1: ") != std::string::npos);
  CHECK(parse_error("[1, 2").find("at byte 6: ") != std::string::npos);
  CHECK(parse_error("[1] 2").find("at byte 5: ") != std::string::npos);
  CHECK(parse_error("[1e999]").find("not valid JSON") != std::string::npos);
  CHECK(parse_error("\"\xFF\"").find("not valid JSON at byte 2") != std::string::npos);
  CHECK(parse_error("[NaN]").find("not valid JSON at byte 2") != std::string::npos);
}

TEST_CASE("what JSON allows but loses something is refused") {
  CHECK(parse_error(R"({"a": 1, "a": 2})") == "x.json: not valid JSON at byte 12: the key \"a\" is there twice");
  CHECK(parse_error("[9223372036854775808]").find("64 bits cannot hold: 9223372036854775808") != std::string::npos);
  CHECK(parse_error("[-9223372036854775809]").find("64 bits cannot hold") != std::string::npos);
  CHECK(parse_error("[123456789012345678901234567890]").find("64 bits cannot hold") != std::string::npos);
  CHECK(parse_json("-9223372036854775808", "x") == Value(std::numeric_limits<std::int64_t>::min()));

  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK(parse_error(nested(200)) == "no error");
  CHECK(parse_error(nested(201)).find("nested deeper than 200") != std::string::npos);
  CHECK(parse_error(std::string(1000000, '[')).find("nested deeper than 200") != std::string::npos);
}

TEST_CASE("the fingerprint is BLAKE2b-256 of the canonical text without positions") {
  const Value::Map entry{{"@", "optim.AdamW"}, {"lr", 0.003}};
  // hashlib.blake2b(b'{"@":"optim.AdamW","lr":0.003}', digest_size=32)
  CHECK(fingerprint(entry) == "ec790b56d950dcbefd6ba87798e57bdb1ac8b5bcd57d34b5bd3e989db43f9395");
  Value::Map positioned = entry;
  positioned.emplace("@at", "x.lua:3");
  CHECK(fingerprint(positioned) == fingerprint(entry));
  CHECK(fingerprint(Value::List{positioned}) == fingerprint(Value::List{entry}));
  positioned["lr"] = 0.004;
  CHECK(fingerprint(positioned) != fingerprint(entry));
}

}  // namespace trainlab::json_test
