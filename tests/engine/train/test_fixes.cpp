// Fixes: which options of a fit they change, and what is kept of them.
#include <catch2/catch.hpp>

#include "support/fit_support.h"
#include "train/fix.h"

namespace trainlab::fixes_test {

using namespace test;

namespace {

std::string fit_of(const std::string& more) {
  return R"({"@": "fit", "name": "test", "data": {"@": "data.digits"}, "loss": "cross_entropy", "steps": 3,
    "model": {"@": "nn.Flatten"})" +
         more + "}";
}

const std::string sgd = R"(, "optim": {"@": "optim.SGD", "lr": 5})";

Value fixed(const std::string& more, FixedOption option, const Value& value = {}) {
  return with_fixes(parse_options(fit_of(more)), {{.option = option, .value = value}}).value();
}

}  // namespace

TEST_CASE("a fix changes one option, also within a wrapped optimizer") {
  CHECK(fixed(sgd, FixedOption::lr, 0.01)["optim"]["lr"] == Value(0.01));
  const std::string wrapped = R"(, "optim": {"@": "optim.Lookahead", "base": {"@": "optim.SGD", "lr": 5}})";
  CHECK(fixed(wrapped, FixedOption::lr, 0.01)["optim"]["base"]["lr"] == Value(0.01));
  CHECK(fixed(sgd, FixedOption::clip, 1.5)["clip"]["norm"] == Value(1.5));
  CHECK(fixed(sgd, FixedOption::accumulate, 4)["accumulate"] == Value(4));
  CHECK(fixed(sgd, FixedOption::batch, 32)["batch"] == Value(32));
  const Value data = fixed(sgd, FixedOption::normalize)["data"];
  CHECK(data["@"] == Value("data:normalize"));
  CHECK(data["source"]["@"] == Value("data.digits"));
}

TEST_CASE("a fix of the initial values keeps the patterns, and biases begin at 0") {
  const Value kaiming = Value::Map{{"@", "init.kaiming_normal"}};
  CHECK(fixed(sgd, FixedOption::init, "init.kaiming_normal")["init"] == kaiming);
  CHECK(fixed(sgd + R"(, "init": {"@": "init.normal", "std": 20})", FixedOption::init, "init.kaiming_normal")["init"] ==
        kaiming);
  const Value by_name = fixed(sgd + R"(, "init": {"2.weight": {"@": "init.normal", "std": 20},
                                                "*bias": {"@": "init.constant", "value": -10},
                                                "*bias_hh*": {"@": "init.constant", "value": -10}})",
                              FixedOption::init, "init.kaiming_normal")["init"];
  CHECK(by_name["2.weight"] == kaiming);
  CHECK(by_name["*bias"] == Value(Value::Map{{"@", "init.zeros"}}));
  CHECK(by_name["*bias_hh*"] == Value(Value::Map{{"@", "init.zeros"}}));
}

TEST_CASE("later fixes build on earlier ones") {
  const Options fit = parse_options(fit_of(sgd));
  const Value both =
      with_fixes(fit, {{.option = FixedOption::lr, .value = 0.1}, {.option = FixedOption::normalize}}).value();
  CHECK(both["optim"]["lr"] == Value(0.1));
  CHECK(both["data"]["@"] == Value("data:normalize"));
  CHECK_THAT(error_of([&] { with_fixes(fit, {{.option = FixedOption::batch, .value = 0}}); }),
             Catch::Contains("batch"));
}

TEST_CASE("a fix is kept as a value") {
  const Fix fix{.kind = "rate_too_high",
                .step = 60,
                .evidence = "the loss rose",
                .option = FixedOption::clip,
                .value = 1.5,
                .from = 40,
                .seconds = 2.5,
                .flops = 1e9};
  const Fix again = fix_of_value(to_value(fix));
  CHECK(to_value(again) == to_value(fix));
  CHECK(text_of(again) == "clip = { norm = 1.5 }");
  CHECK(again.option == FixedOption::clip);
  CHECK_THROWS_AS(fix_of_value(Value::Map{{"option", "colour"}}), Error);
}

}  // namespace trainlab::fixes_test
