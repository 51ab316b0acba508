#include <catch2/catch.hpp>

#include "engine/core/sample_registry.h"

namespace trainlab::print_test {

using namespace trainlab::sample;

namespace {

std::string printed(const Value& value) {
  static const Registry r = sample::registry();
  return r.print(value);
}

std::string checked(const Value& value) {
  static const Registry r = sample::registry();
  return r.print(r.check(value));
}

}  // namespace

TEST_CASE("values are printed as a recipe would write them") {
  CHECK(printed(Value()) == "nil");
  CHECK(printed(0.1) == "0.1");
  CHECK(printed("a \"b\"") == R"("a \"b\"")");
  CHECK(printed(Value::List{1, 2.5, true}) == "{ 1, 2.5, true }");
  CHECK(printed(Value::Map{{"a", 1}, {"b c", Value::List{}}}) == R"({ a = 1, ["b c"] = {} })");
  CHECK(printed(Value::Map{{"end", 3}}) == R"({ ["end"] = 3 })");  // a word of Lua cannot be a name
  CHECK(printed(function(0)) == "function (x.lua:4)");
}

TEST_CASE("entries are printed in constructor form") {
  CHECK(checked(linear(64)) == "nn.Linear(64)");
  CHECK(checked(entry("nn.Linear", {{"out", 64}, {"bias", false}}, "x.lua:1")) == "nn.Linear { 64, bias = false }");
  CHECK(checked(entry("nn.ReLU")) == "nn.ReLU()");
  CHECK(checked(entry("optim.AdamW")) == "optim.AdamW()");
  CHECK(checked(entry("optim.AdamW", {{"betas", Value::List{0.8, 0.9}}, {"lr", 1}})) ==
        "optim.AdamW { lr = 1, betas = { 0.8, 0.9 } }");
  CHECK(checked(entry("nn.Conv2d", {{"out", 8}, {"kernel", 3}, {"padding", Value::List{0, 1}}})) ==
        "nn.Conv2d { 8, 3, padding = { 0, 1 } }");
  CHECK(checked(entry("nn.Sequential", {{"layers", Value::List{linear(3), entry("nn.ReLU")}}, {"label", "x"}})) ==
        "nn.Sequential { nn.Linear(3), nn.ReLU(), label = \"x\" }");
  CHECK(printed(entry("nn.Conv2d", {{"kernel", 3}})) == "nn.Conv2d { kernel = 3 }");
  CHECK(printed(entry("nn.Unknown", {{"a", 3}}, "x.lua:1")) == "nn.Unknown { a = 3 }");
}

TEST_CASE("methods are printed as a chain") {
  const Value split = entry("data:split", {{"source", entry("data.csv", {{"file", "a.csv"}})}, {"train", 0.5}});
  CHECK(checked(entry("data:take", {{"source", split}, {"n", 10}})) ==
        "data.csv(\"a.csv\"):split { train = 0.5 }:take(10)");
}

TEST_CASE("what does not fit on a line is broken and indented") {
  Value::List layers;
  for (int i = 1; i <= 8; ++i) layers.push_back(linear(1000 * i));
  const Value inner = entry("nn.Sequential", {{"layers", layers}});
  CHECK(printed(fit({{"model", inner}, {"optim", entry("optim.AdamW", {{"lr", 0.1}})}})) ==
        "fit {\n"
        "  model = nn.Sequential {\n"
        "    nn.Linear(1000),\n"
        "    nn.Linear(2000),\n"
        "    nn.Linear(3000),\n"
        "    nn.Linear(4000),\n"
        "    nn.Linear(5000),\n"
        "    nn.Linear(6000),\n"
        "    nn.Linear(7000),\n"
        "    nn.Linear(8000),\n"
        "  },\n"
        "  optim = optim.AdamW { lr = 0.1 },\n"
        "}");
}

}  // namespace trainlab::print_test
