#include <lua.hpp>

#include "support.h"

namespace trainlab::marshal_test {

using trainlab::testing::returned_function;
using trainlab::testing::Sandbox;

namespace {

Value echo(const Value& value) {
  Sandbox sandbox;
  const auto function = returned_function(sandbox.execute("return lab.stage { call = function(x) return x end }"));
  const Argument argument[] = {value};
  return std::get<Value>(function->call(argument).at(0));
}

}  // namespace

TEST_CASE("data goes to Lua and back unchanged") {
  const Value value = GENERATE(Value(), Value(true), Value(1.5), Value(-3), Value(std::int64_t{1} << 53),
                               Value("text with \"quotes\" and \n ü"), Value(""),
                               Value(Value::List{1, 2.5, "x", Value::List{1}, false}),
                               Value(Value::Map{{"a", 1}, {"b", Value::Map{{"c", Value::List{1, 2}}}}}));
  CHECK(echo(value) == value);
}

TEST_CASE("numbers keep what they are") {
  CHECK(echo(3.0) == Value(3));  // Lua has one type of number
  CHECK(echo(1e300) == Value(1e300));
  CHECK(std::isnan(echo(std::nan("")).number()));
  CHECK(echo(-HUGE_VAL) == Value(-HUGE_VAL));
  CHECK(std::signbit(echo(-0.0).number()));
  CHECK(echo(0.1).number() == 0.1);
}

TEST_CASE("integers that a double cannot hold are refused") {
  const std::int64_t n = GENERATE((std::int64_t{1} << 53) + 1, -(std::int64_t{1} << 53) - 1, INT64_MAX, INT64_MIN);
  CHECK_THROWS_WITH(echo(n), Catch::Contains("has no exact Lua number"));
}

TEST_CASE("tables that are no data are refused, with the path") {
  struct Row {
    const char* value;
    const char* message;
  };
  const Row row = GENERATE(
      Row{"{ a = { 1, nil, 3 } }", "value.a: a list with a hole: [2] is missing, [3] is there"},
      Row{"{ [2] = 1 }", "a list with a hole: [1] is missing, [2] is there"},
      Row{"{ [0] = 1, 2 }", "expected positions from 1, found [0]"},
      Row{"{ [-1] = 1 }", "expected positions from 1, found [-1]"},
      Row{"{ [1.5] = 1 }", "expected positions from 1, found [1.5]"}, Row{"{ [1e300] = 1 }", "a list with a hole"},
      Row{"{ [1/0] = 1 }", "expected positions from 1, found [inf]"},
      Row{"{ 1, a = 2 }", "a table with both positions and names ('a')"},
      Row{"{ [true] = 1 }", "expected a name or a position as key, found true"},
      Row{"{ [{}] = 1 }", "expected a name or a position as key, found a table"},
      Row{"{ a = { ['b c'] = { coroutine.create(print) } } }", "value.a[\"b c\"][1]: expected data, found a thread"},
      Row{"{ '\\255' }", "value[1]: a text that is not UTF-8"}, Row{"{ ['\\255'] = 1 }", "a text that is not UTF-8"},
      Row{"{ lab.nn }", "expected data, found a userdata"});
  CAPTURE(row.value);
  Sandbox sandbox;
  const Error error = sandbox.fails(std::string("local x\nreturn lab.stage { value = ") + row.value + " }");
  CHECK_THAT(error.what(), Catch::StartsWith("x.lua:2: stage.value") && Catch::Contains(row.message));
}

TEST_CASE("a table used twice is no cycle") {
  Sandbox sandbox;
  CHECK(sandbox.value("local t = { 1 } return lab.stage { value = { a = t, b = { t, t } } }") ==
        parse_json(R"({"a": [1], "b": [[1], [1]]})", "test"));
}

TEST_CASE("functions travel beside the data") {
  Sandbox sandbox;
  const Recipe::Outcome outcome = sandbox.execute(
      "local function double(x)\n return 2 * x end\nreturn lab.stage { value = { f = double, g = { function() return "
      "'g', nil, 3 end } }, call = double }");
  const Value& value = outcome.stage->value;
  CHECK(value["value"]["f"]["@"] == Value("function"));
  CHECK(value["value"]["f"]["@at"] == Value("x.lua:1"));
  REQUIRE(outcome.stage->functions.size() == 3);
  const Argument two[] = {Value(2)};
  CHECK(std::get<Value>(outcome.stage->function(value["value"]["f"])->call(two).at(0)) == Value(4));
  const auto g = outcome.stage->function(value["value"]["g"].list()[0]);
  CHECK(g->where() == "x.lua:3");
  const std::vector<Argument> results = g->call({});
  REQUIRE(results.size() == 3);
  CHECK(std::get<Value>(results[0]) == Value("g"));
  CHECK(std::get<Value>(results[1]).is_nil());
  CHECK(std::get<Value>(results[2]) == Value(3));
}

TEST_CASE("a result that is no data names its place") {
  Sandbox sandbox;
  const auto function =
      returned_function(sandbox.execute("return lab.stage { call = function() return 1, { f = print } end }"));
  CHECK_THROWS_WITH(function->call({}),
                    Catch::Contains("result 2 of the function at x.lua:1.f: expected data, found a function"));
}

}  // namespace trainlab::marshal_test
