#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/number_or_nil.h"
#include "core/value.h"

namespace trainlab::value_test {

TEST_CASE("a Value keeps integers and numbers apart, and converts where nothing is lost") {
  CHECK(Value(3).is_integer());
  CHECK(Value(3).is_number());
  CHECK_FALSE(Value(3.0).is_integer());
  CHECK(Value(3.0).integer() == 3);
  CHECK(Value(3).number() == 3.0);
  CHECK_FALSE(Value(3) == Value(3.0));
  CHECK_THROWS_AS(Value(2.5).integer(), std::logic_error);
  CHECK_THROWS_AS(Value(9007199254740992.0).integer(), std::logic_error);
  CHECK_THROWS_AS(Value(std::nan("")).integer(), std::logic_error);
  CHECK(Value(std::numeric_limits<std::int64_t>::max()).integer() == std::numeric_limits<std::int64_t>::max());
  CHECK(Value("text").is_string());
  CHECK(Value(true).is_boolean());
  CHECK_THROWS_AS(Value("1").number(), std::logic_error);
}

TEST_CASE("members are read without making them and set where they are missing") {
  Value value;
  CHECK(value["a"].is_nil());
  CHECK(value.is_nil());
  value.set("a", 1);
  value.set("a", 2);
  CHECK(value["a"] == Value(2));
  CHECK(Value(5)["a"].is_nil());
  CHECK_THROWS_AS(Value(5).operator[]("a").map(), std::logic_error);
  Value number(5);
  CHECK_THROWS_AS(number.set("a", 1), std::logic_error);
}

TEST_CASE("brief says in a few words what a value is") {
  CHECK(Value().brief() == "nil");
  CHECK(Value(12).brief() == "12");
  CHECK(Value(0.1).brief() == "0.1");
  CHECK(Value("a \"b\"\n").brief() == R"("a \"b\"\n")");
  CHECK(Value(Value::List{1, 2, 3}).brief() == "a list of 3");
  CHECK(Value(Value::List{}).brief() == "an empty table");
  CHECK(Value(Value::Map{{"lr", 1}, {"width", 2}}).brief() == "a table { lr = …, width = … }");
  CHECK(Value(Value::Map{{"@", "optim.AdamW"}, {"@at", "x.lua:1"}, {"lr", 1}}).brief() == "optim.AdamW { … }");
  CHECK(Value(Value::Map{{"@", "nn.ReLU"}, {"@at", "x.lua:1"}}).brief() == "nn.ReLU()");
  CHECK(Value(Value::Map{{"@", "function"}, {"@at", "x.lua:9"}}).brief() == "a function (x.lua:9)");

  // Long texts are cut between characters, and bytes that are no text are shown as numbers.
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "ä";
  const std::string brief = Value(umlauts).brief();
  CHECK(brief == "\"" + umlauts.substr(0, 120) + "…\"");
  CHECK(Value("\xFF\x01").brief() == R"("\255\001")");
  Value::Map wide;
  for (int i = 0; i < 50; ++i) wide.emplace("option_number_" + std::to_string(i), i);
  CHECK(Value(wide).brief().size() < 80);
  CHECK(Value(wide).brief().ends_with("… }"));
}

TEST_CASE("count_text writes whole numbers in full") {
  CHECK(count_text(0) == "0");
  CHECK(count_text(999) == "999");
  CHECK(count_text(1e5) == "100,000");
  CHECK(count_text(-1234567) == "-1,234,567");
  CHECK(count_text(-123) == "-123");
  CHECK(count_text(2.5) == "2.5");
  CHECK(count_text(1e300) == "1e+300");
}

TEST_CASE("figure_text shows the digits that count") {
  CHECK(figure_text(6.000000000000001) == "6");
  CHECK(figure_text(0.1 + 0.2) == "0.3");
  CHECK(figure_text(1.0 / 3) == "0.333333333333");
  CHECK(figure_text(1012.4, 3) == "1012");
  CHECK(figure_text(999.6, 3) == "1000");
  CHECK(figure_text(123456, 3) == "123456");
  CHECK(figure_text(12.345, 3) == "12.3");
  CHECK(figure_text(0.25, 3) == "0.25");
  CHECK(figure_text(-4321.7, 3) == "-4322");
  CHECK(figure_text(2.5e7, 3) == "2.5e+07");
  CHECK(figure_text(1e-5, 3) == "1e-05");
  CHECK(figure_text(INFINITY, 3) == "inf");
  CHECK(figure_text(std::nan(""), 3) == "nan");
}

TEST_CASE("number_text is the shortest that reads back as the same double") {
  CHECK(number_text(0.1) == "0.1");
  CHECK(number_text(1e-5) == "1e-05");
  CHECK(number_text(1) == "1");
  CHECK(number_text(-0.0) == "-0");
  CHECK(number_text(1.0 / 3) == "0.3333333333333333");
  CHECK(number_text(std::numeric_limits<double>::denorm_min()) == "5e-324");
  CHECK(number_text(std::numeric_limits<double>::max()) == "1.7976931348623157e+308");
  CHECK(number_text(-INFINITY) == "-inf");
  CHECK(number_text(-std::nan("")) == "nan");
}

TEST_CASE("an Error puts its parts together, the innermost position and the outermost path first") {
  Error error = recipe_error("expected a number");
  error.in("lr").in("optim").in("fit");
  CHECK(std::string(error.what()) == "fit.optim.lr: expected a number");
  error.at("inner.lua", 7).at("outer.lua", 1).hint("try 0.1").traceback("stack traceback:");
  CHECK(std::string(error.what()) == "inner.lua:7: fit.optim.lr: expected a number\n  hint: try 0.1\nstack traceback:");
  CHECK(std::string(recipe_error("shape").in("[3].Linear").in("model").what()) == "model[3].Linear: shape");
  CHECK(static_cast<int>(run_error("x").kind()) == 3);
}

}  // namespace trainlab::value_test
