#include <catch2/catch.hpp>

#include "core/callable.h"
#include "core/duration.h"
#include "core/random/key.h"
#include "engine/core/sample_registry.h"

namespace trainlab::options_test {

using namespace trainlab::sample;

namespace {

class Named : public Callable {
 public:
  explicit Named(std::string where) : where_(std::move(where)) {}
  std::vector<Argument> call(std::span<const Argument>) override { return {Value(where_)}; }
  void rekey(Key) override {}
  const std::string& where() const override { return where_; }

 private:
  std::string where_;
};

const Registry& entries() {
  static const Registry r = sample::registry();
  return r;
}

Options options_of(Value::Map given) {
  auto spec = std::make_shared<Spec>();
  spec->value = entries().check(fit(std::move(given)), "fit");
  spec->functions = {std::make_shared<Named>("zero"), std::make_shared<Named>("one")};
  return {entries(), spec, "fit"};
}

}  // namespace

TEST_CASE("options are read with their defaults") {
  const Options fit = options_of({{"goal", "min"}, {"optim", entry("optim.AdamW", {{"lr", 1}}, "x.lua:9")}});
  CHECK(fit.entry().name == "fit");
  CHECK(fit.where() == "x.lua:3");
  CHECK(fit.given("goal"));
  CHECK(fit.string("goal") == "min");
  CHECK_FALSE(fit.given("batch"));
  CHECK(fit.has("batch"));
  CHECK(fit.integer("batch") == 32);
  CHECK_FALSE(fit.has("data"));
  CHECK(fit.duration("validate") == Duration{1, Unit::epochs});

  const Options optim = fit.child("optim");
  CHECK(optim.path() == "fit.optim");
  CHECK(optim.where() == "x.lua:9");
  CHECK(optim.number("lr") == 1.0);
  CHECK(optim.numbers("betas") == std::vector<double>{0.9, 0.999});
  CHECK(fit.child("model").boolean("bias"));
}

TEST_CASE("a default may be an entry or a table with defaults of its own") {
  const Options fit = options_of({});
  CHECK(fit.is_entry("loss"));
  CHECK(fit.child("loss").entry().name == "loss.cross_entropy");
  CHECK(fit.child("loss").number("smoothing") == 0);
  CHECK(fit.child("loader").integer("threads") == 1);
  CHECK_FALSE(fit.child("loader").given("threads"));

  const Options given = options_of({{"loader", Value::Map{{"threads", 4}}}});
  const Options loader = given.child("loader");
  CHECK(loader.integer("threads") == 4);
  CHECK_FALSE(loader.boolean("drop_last"));
  CHECK(loader.path() == "fit.loader");
  CHECK(loader.where() == "x.lua:3");
  CHECK(std::string(loader.error("threads", "too many").what()) == "x.lua:3: fit.loader.threads: too many");
}

TEST_CASE("lists hold entries and functions side by side, each with its path") {
  const Options fit =
      options_of({{"stop", Value::List{function(1), entry("stop.patience", {{"patience", 3}}), function(0)}}});
  const auto elements = fit.elements("stop");
  REQUIRE(elements.size() == 3);
  CHECK(elements[0].function->where() == "one");
  CHECK_FALSE(elements[0].entry);
  CHECK(elements[1].entry->integer("patience") == 3);
  CHECK(elements[1].path == "fit.stop[2].patience");
  CHECK(elements[2].function->where() == "zero");
  CHECK(options_of({}).elements("stop").empty());
  CHECK_THROWS(fit.children("stop"));

  const Value layers =
      entry("nn.Sequential", {{"layers", Value::List{linear(1), entry("nn.Conv2d", {{"out", 8}, {"kernel", 3}})}}});
  const auto children = options_of({{"model", layers}}).child("model").children("layers");
  REQUIRE(children.size() == 2);
  CHECK(children[1].path() == "fit.model[2].Conv2d");
  CHECK(children[1].integers("kernel") == std::vector<std::int64_t>{3, 3});
  CHECK(children[1].integers("padding") == std::vector<std::int64_t>{0, 0});
}

TEST_CASE("functions are found by their place in the spec") {
  const Options fit = options_of({{"loss", function(1)}});
  CHECK(fit.is_function("loss"));
  CHECK_FALSE(fit.is_entry("loss"));
  CHECK(fit.function("loss")->where() == "one");
  CHECK(fit.function("goal") == nullptr);
  CHECK(options_of({{"extra", function(1)}}).function("extra")->where() == "one");
}

TEST_CASE("errors name the place of the entry or option") {
  const Options fit = options_of({{"optim", entry("optim.AdamW", {}, "x.lua:9")}});
  CHECK(std::string(fit.error("batch", "larger than the data").what()) == "x.lua:3: fit.batch: larger than the data");
  CHECK(std::string(fit.child("optim").error("", "no parameters").what()) == "x.lua:9: fit.optim: no parameters");
  // An entry made from a name stands where the name was written.
  CHECK(std::string(options_of({{"loss", "mse"}}).child("loss").error("", "wrong target").what()) ==
        "x.lua:3: fit.loss: wrong target");
}

TEST_CASE("reading what is not declared, or as something else, is a programmer's error") {
  const Options fit = options_of({});
  CHECK_THROWS_AS(fit.integer("epochs"), std::logic_error);
  CHECK_THROWS_AS(fit.given("epochs"), std::logic_error);
  CHECK_THROWS_AS(fit.string("batch"), std::logic_error);
  CHECK_THROWS_AS(fit.string("goal"), std::logic_error);  // neither given nor with a default
  CHECK_THROWS_AS(fit.child("data"), std::logic_error);
  CHECK_THROWS_AS(fit.child("batch"), std::logic_error);
  CHECK_THROWS_AS(Options(entries(), std::make_shared<Spec>(), "x"), std::logic_error);
}

TEST_CASE("options keep the spec alive") {
  std::weak_ptr<Spec> watched;
  {
    auto spec = std::make_shared<Spec>();
    watched = spec;
    spec->value = entries().check(fit({{"optim", entry("optim.AdamW", {{"lr", 0.5}})}}), "fit");
    const Options optim = Options(entries(), std::move(spec), "fit").child("optim");
    CHECK(optim.number("lr") == 0.5);
  }
  CHECK(watched.expired());
}

TEST_CASE("a keyed option is one value, or a table of them by name with options of their own") {
  const Options one = options_of({{"input", 8}, {"rules", "AdamW"}});
  CHECK_FALSE(one.is_keyed("input"));
  CHECK_FALSE(one.is_keyed("rules"));
  CHECK(one.integers("input") == std::vector<std::int64_t>{8});

  const Options several = options_of({{"input", Value::Map{{"a", 8}, {"b", Value::List{2, 3}}}},
                                      {"rules", Value::Map{{"b", entry("optim.SGD", {{"lr", 1}}, "x.lua:9")}}}});
  REQUIRE(several.is_keyed("input"));
  CHECK(several.keyed("input").names() == std::vector<std::string>{"a", "b"});
  CHECK(several.keyed("input").integers("b") == std::vector<std::int64_t>{2, 3});
  const Options rules = several.keyed("rules");
  CHECK(rules.child("b").number("lr") == 1);
  CHECK(rules.child("b").path() == "fit.rules.b");
  CHECK_THROWS_WITH(options_of({{"input", Value::Map{{"a", 0}}}}),
                    Catch::Contains("fit.input.a") && Catch::Contains("integer ≥ 1"));
  CHECK_THROWS_AS(one.keyed("input"), std::logic_error);
}

}  // namespace trainlab::options_test
