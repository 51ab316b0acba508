#include <catch2/catch.hpp>

#include "core/error.h"
#include "run/request.h"

namespace trainlab::request_test {

TEST_CASE("a request survives its way through JSON") {
  Request request;
  request.command = "check";
  request.choice = "lr";
  request.recipe = "/r/recipe/digits.lua";
  request.recipe_folder = "/r";
  request.working_folder = "/w";
  request.second = "/s/other.lua";
  request.parameters = {{"lr", "0.01", "--lr"}, {"data", "a \"b\"\n", "p.toml:3"}};
  request.options = Value::Map{{"step", true},
                               {"set", Value::List{"optim.lr=1", "search:trials=3"}},
                               {"out", "/o"},
                               {"seed", std::int64_t{9007199254740991}},
                               {"quiet", true}};
  request.named = {"/d/rows.csv"};
  request.worker = 2;
  request.extend = NewTotal{60, "epochs"};
  request.supervisor = 123;

  const Request back = Request::from_value(parse_json(to_json(request.to_value()), "request"));
  CHECK(back.to_value() == request.to_value());
  CHECK(back.command == "check");
  CHECK(back.choice == "lr");
  CHECK(back.second == "/s/other.lua");
  CHECK(back.parameters == request.parameters);
  CHECK(back.texts("set") == std::vector<std::string>{"optim.lr=1", "search:trials=3"});
  CHECK(back.path("out") == "/o");
  CHECK(back.has("quiet"));
  CHECK_FALSE(back.has("stdlib"));
  CHECK(back.options == request.options);
  CHECK(back.named == request.named);
}

TEST_CASE("what is no request says that the programs differ") {
  for (const char* text : {"{}", "[]", "3", R"({"command":"run"})", R"({"command":"run","recipe":3})"}) {
    INFO(text);
    CHECK_THROWS_AS(Request::from_value(parse_json(text, "request")), Error);
  }
}

}  // namespace trainlab::request_test
