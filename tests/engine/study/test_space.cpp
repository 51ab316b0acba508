// Spaces: ranges, conditions, points and what recipes see of them, errors.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "core/random/stream.h"
#include "study_support.h"

namespace trainlab::space_test {

namespace {

const char* const optimizers = R"({
  "lr": {"@": "space.log", "low": 1e-4, "high": 0.1},
  "width": {"@": "space.int", "low": 16, "high": 128, "log": true},
  "optim": {"@": "space.choice", "values": ["AdamW", "SGD"]},
  "momentum": {"@": "space:when", "source": {"@": "space.uniform", "low": 0, "high": 0.99},
               "parent": "optim", "values": "SGD"},
  "nesterov": {"@": "space:when", "source": {"@": "space.choice", "values": [true, false]},
               "parent": "optim", "values": ["SGD"]},
  "batch": {"@": "space.fixed", "value": 64}
})";

std::string message(const std::string& space) {
  try {
    parse_space(space);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("draws keep to the ranges, and reach all of them alike") {
  const Space space = parse_space(R"({
    "real": {"@": "space.uniform", "low": -1, "high": 3},
    "stepped": {"@": "space.uniform", "low": 0, "high": 1, "step": 0.3},
    "log": {"@": "space.log", "low": 1e-4, "high": 1}, "int": {"@": "space.int", "low": 2, "high": 5},
    "ints": {"@": "space.int", "low": 1, "high": 10, "step": 4},
    "logint": {"@": "space.int", "low": 1, "high": 4, "log": true}})");
  const auto at = [&](const char* name) {
    std::size_t i = 0;
    while (space[i].name != name) ++i;
    return i;
  };
  const auto draw = [&](const char* name, double u) { return space.from_unit(at(name), u); };
  CHECK(draw("real", 0) == -1);
  CHECK(draw("real", 0.25) == 0);
  CHECK(draw("log", 0.5) == Approx(1e-2));
  CHECK(draw("stepped", 0.999) == Approx(0.9));
  CHECK(draw("int", 0.24) == 2);
  CHECK(draw("int", 0.26) == 3);
  CHECK(draw("int", 0.9999999) == 5);
  CHECK(draw("ints", 0.9) == 9);
  // A whole number has the share that its half step on either side has in the logarithm.
  CHECK(draw("logint", std::log(1.5 / 0.5) / std::log(4.5 / 0.5) - 1e-9) == 1);
  CHECK(draw("logint", std::log(1.5 / 0.5) / std::log(4.5 / 0.5) + 1e-9) == 2);
  Stream random{Key(3)};
  for (std::size_t i = 0; i < space.size(); ++i) {
    for (int k = 0; k < 200; ++k) {
      const double value = space.from_unit(i, random.uniform());
      CHECK(value >= space[i].low);
      CHECK(value <= space[i].high);
      CHECK(space.nearest(i, value) == value);
      CHECK(space.from_unit(i, space.to_unit(i, value)) == Approx(value).epsilon(1e-12));
    }
  }
}

TEST_CASE("what depends on another parameter is active with its values only") {
  const Space space = parse_space(optimizers);
  REQUIRE(space.size() == 6);
  const std::vector<double> sgd = space.point(Value::Map{{"optim", "SGD"}, {"momentum", 0.5}, {"lr", 0.01}});
  const Value::Map seen = space.params(sgd);
  CHECK(seen.at("optim") == Value("SGD"));
  CHECK(seen.at("momentum") == Value(0.5));
  CHECK(seen.at("width").is_nil());
  CHECK_THROWS_WITH(space.point(Value::Map{{"optim", "AdamW"}, {"momentum", 0.5}}),
                    Catch::Contains("momentum") && Catch::Contains("inactive with this value of 'optim'"));
  // Those of one condition are one group; the rest is another.
  std::set<std::set<std::string>> groups;
  for (const auto& group : space.groups()) {
    std::set<std::string> names;
    for (const std::size_t i : group) names.insert(space[i].name);
    groups.insert(std::move(names));
  }
  CHECK(groups == std::set<std::set<std::string>>({{"batch", "lr", "optim", "width"}, {"momentum", "nesterov"}}));
}

TEST_CASE("a plain value is a fixed one, and what depends on another value of it is never active") {
  const Space space = parse_space(R"({"batch": 64, "rate": 0.5, "nesterov": true, "optim": "log",
      "momentum": {"@": "space:when", "source": {"@": "space.uniform", "low": 0, "high": 1},
                   "parent": "optim", "values": "SGD"},
      "decay": {"@": "space:when", "source": {"@": "space.uniform", "low": 0, "high": 1}, "parent": "optim",
                "values": ["SGD", "log"]}})");
  for (const char* sampler : {"random", "tpe", "sobol", "halton"}) {
    std::vector<double> point(space.size(), std::nan(""));
    REQUIRE(parse_sampler(std::string(R"({"@": "sampler.)") + sampler + "\"}", space)->sample(0, 0, {}, point));
    const Value params = space.params(point);
    CHECK(params["batch"] == Value(64));
    CHECK(params["rate"] == Value(0.5));
    CHECK(params["nesterov"] == Value(true));
    CHECK(params["optim"] == Value("log"));
    CHECK(params["momentum"].is_nil());
    CHECK(params["decay"].is_number());
  }
}

TEST_CASE("a condition on a number with steps holds to rounding, and is refused where it could never hold") {
  const auto with = [](const std::string& parent, const std::string& values) {
    return R"({"drop": )" + parent +
           R"(, "x": {"@": "space:when", "source": {"@": "space.uniform", "low": 0, "high": 1},
             "parent": "drop", "values": )" +
           values + "}}";
  };
  const std::string tenths = R"({"@": "space.uniform", "low": 0, "high": 1, "step": 0.1})";
  const Space space = parse_space(with(tenths, "[0.3, 0.7]"));
  int active = 0;
  for (int k = 0; k <= 10; ++k) active += space.active(1, std::vector{0 + 0.1 * k, std::nan("")}) ? 1 : 0;
  CHECK(active == 2);
  CHECK(space.point(Value::Map{{"drop", 0.3}, {"x", 0.5}})[1] == 0.5);
  CHECK_THAT(message(with(tenths, "0.35")), Catch::Contains("space.x.values") &&
                                                Catch::Contains("'drop' never has the value 0.35") &&
                                                Catch::Contains("a number in 0 … 1, near it 0.3 or 0.4"));
  CHECK_THAT(message(with(tenths, "1.1")), Catch::Contains("never has the value 1.1: expected a number in 0 … 1"));
  CHECK_THAT(message(with(R"({"@": "space.int", "low": 2, "high": 9})", "2.5")),
             Catch::Contains("never has the value 2.5: expected an integer in 2 … 9, near it 2 or 3"));
  CHECK_THROWS_WITH(space.point(Value::Map{{"drop", 0.42}}), Catch::Contains("near it 0.4 or 0.5, found 0.42"));
  const std::string sevenths = R"({"@": "space.uniform", "low": 0, "high": 7, "step": 0.7})";
  CHECK_THAT(message(with(sevenths, "2.2")), Catch::Contains("near it 2.1 or 2.8"));
  // A whole number is the number, in conditions as in points.
  const Space sizes = parse_space(with(R"({"@": "space.choice", "values": [1, 2.5]})", "1.0"));
  CHECK(sizes.active(1, sizes.point(Value::Map{{"drop", 1.0}})));
  CHECK(sizes.active(1, sizes.point(Value::Map{{"drop", 1}})));
  CHECK_THAT(message(R"({"a": {"@": "space.choice", "values": [1, 1.0]}})"), Catch::Contains("stands twice"));
}

TEST_CASE("a space is the same again from its data") {
  const Space space = parse_space(optimizers);
  const Space again = Space::from_value(parse_json(to_json(space.to_value()), "space"));
  CHECK(to_json(again.to_value()) == to_json(space.to_value()));
  CHECK(again.groups() == space.groups());
}

TEST_CASE("wrong spaces are refused where they were written") {
  CHECK_THAT(message("{}"),
             Catch::Contains("space: expected") && Catch::Contains("a table of them by name, found an empty table"));
  CHECK_THAT(message(R"({"@": "space.uniform", "low": 0, "high": 1})"),
             Catch::Contains("space: expected a table of parameters by name"));
  CHECK_THAT(message(R"({"a": {"@": "space.uniform", "low": 2, "high": 1}})"),
             Catch::Contains("space.a.high") && Catch::Contains("at least low = 2"));
  CHECK_THAT(message(R"({"a": {"@": "space.int", "low": 0, "high": 4, "log": true}})"), Catch::Contains("more than 0"));
  CHECK_THAT(message(R"({"a": {"@": "space.choice", "values": []}})"), Catch::Contains("found an empty table"));
  CHECK_THAT(message(R"({"a": {"@": "space.choice", "values": [1, 1]}})"), Catch::Contains("stands twice"));
  CHECK_THAT(message(R"({"seed": {"@": "space.fixed", "value": 1}})"), Catch::Contains("may not be called 'seed'"));
  CHECK_THAT(message(R"({"optim": {"@": "space.choice", "values": ["a"]},
      "m": {"@": "space:when", "source": {"@": "space.fixed", "value": 1}, "parent": "optm", "values": "a"}})"),
             Catch::Contains("space.m.parent") && Catch::Contains("did you mean 'optim'"));
  CHECK_THAT(message(R"({"optim": {"@": "space.choice", "values": ["a", "c"]},
      "m": {"@": "space:when", "source": {"@": "space.fixed", "value": 1}, "parent": "optim", "values": "b"}})"),
             Catch::Contains("never has the value \"b\""));
  CHECK_THAT(
      message(
          R"({"a": {"@": "space:when", "source": {"@": "space.choice", "values": [1, 2]}, "parent": "b", "values": 1},
                         "b": {"@": "space:when", "source": {"@": "space.choice", "values": [1, 2]},
                               "parent": "a", "values": 1}})"),
      Catch::Contains("leads back to itself"));
}

TEST_CASE("points that are given must fit the space") {
  const Space space = parse_space(optimizers);
  CHECK_THROWS_WITH(space.point(Value::Map{{"lrate", 0.1}}), Catch::Contains("no parameter 'lrate'"));
  CHECK_THROWS_WITH(space.point(Value::Map{{"lr", 1.0}}),
                    Catch::Contains("lr: expected a number in 1e-04 … 0.1, found 1"));
  CHECK_THROWS_WITH(space.point(Value::Map{{"width", 20.5}}), Catch::Contains("expected an integer in 16 … 128"));
  CHECK_THROWS_WITH(space.point(Value::Map{{"optim", "Adam"}}), Catch::Contains("one of \"AdamW\", \"SGD\""));
}

}  // namespace trainlab::space_test
