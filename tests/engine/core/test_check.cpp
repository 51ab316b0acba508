#include <catch2/catch.hpp>
#include <cmath>

#include "engine/core/sample_registry.h"

namespace trainlab::check_test {

using namespace trainlab::sample;

namespace {

const Registry& entries() {
  static const Registry r = sample::registry();
  return r;
}

// What checking a fit with these options says, without its first "x.lua:3: ".
std::string refused(Value::Map options) {
  const std::string error = error_of([&] { entries().check(fit(std::move(options)), "fit"); });
  return error.starts_with("x.lua:3: ") ? error.substr(9) : error;
}

Value checked(std::string_view option, Value value) {
  return entries().check(fit({{std::string(option), std::move(value)}}), "fit")[option];
}

Value adamw(Value::Map options) { return entry("optim.AdamW", std::move(options), "x.lua:9"); }

}  // namespace

TEST_CASE("a checked entry is in normal form") {
  CHECK(checked("batch", 64.0) == Value(64));
  CHECK(checked("model", linear(64.0)) == linear(64));
  CHECK(checked("optim", adamw({{"lr", 1}})) == adamw({{"lr", 1.0}}));
  CHECK(checked("optim", adamw({{"betas", 0.5}})) == adamw({{"betas", Value::List{0.5, 0.5}}}));
  CHECK(checked("validate", "2 epoch") == Value("2 epochs"));
  // A name becomes the entry, at the place where the name was written; one value of a list becomes the list.
  CHECK(checked("loss", "mse") == entry("loss.mse", {}, "x.lua:3"));
  CHECK(checked("stop", function(0)) == Value(Value::List{function(0)}));
  CHECK(checked("loss", function(2)) == function(2));
  // Lua cannot tell an empty list from an empty map.
  CHECK(checked("stop", Value::Map{}) == Value(Value::List{}));
  CHECK(checked("loader", Value::List{}) == Value(Value::Map{}));
  // Defaults are not filled in, and nil is as good as absent.
  CHECK(entries().check(fit({{"goal", Value()}}), "fit") == entries().check(fit(), "fit"));
  CHECK(entries().check(fit())["batch"].is_nil());
  const Value once =
      entries().check(fit({{"loss", "mse"}, {"batch", 2.0}, {"stop", entry("stop.patience", {{"patience", 3}})}}));
  CHECK(entries().check(once) == once);
}

TEST_CASE("a value of a wrong type or out of range says what was expected and found, and where") {
  CHECK(refused({{"batch", "many"}}) == "fit.batch: expected an integer ≥ 1, found \"many\"");
  CHECK(refused({{"batch", 0}}) == "fit.batch: expected an integer ≥ 1, found 0");
  CHECK(refused({{"batch", 2.5}}) == "fit.batch: expected an integer ≥ 1, found 2.5");
  CHECK(refused({{"batch", std::ldexp(1.0, 60)}}) ==
        "fit.batch: expected an integer ≥ 1, found 1152921504606846976\n"
        "  hint: beyond 2^53 not every whole number is exact");
  CHECK(refused({{"batch", function(0)}}) == "fit.batch: expected an integer ≥ 1, found a function (x.lua:4)");
  CHECK(refused({{"model", linear("a")}}) == "fit.model.out: expected an integer ≥ 1, found \"a\"");
  CHECK(refused({{"loader", Value::Map{{"drop_last", 1}}}}) == "fit.loader.drop_last: expected a boolean, found 1");
  CHECK(refused({{"loader", true}}) ==
        "fit.loader: expected a table of options, found true\n"
        "  hint: write loader = { … } with any of its options: threads, drop_last");
  CHECK(refused({{"data", entry("data.csv", {{"file", ""}})}}) == "fit.data.file: expected a path, found \"\"");
  CHECK(refused({{"stop", 3}}) ==
        "fit.stop: expected a stop rule or function(run) → reason | nil, or a list of them, found 3\n"
        "  hint: accepted: patience");
}

TEST_CASE("numbers are finite, exact and within their limits") {
  const auto lr = [](Value value) { return refused({{"optim", adamw({{"lr", std::move(value)}})}}); };
  CHECK(lr("fast") == "x.lua:9: fit.optim.lr: expected a number ≥ 0, found \"fast\"");
  CHECK(lr(-1e-9) == "x.lua:9: fit.optim.lr: expected a number ≥ 0, found -1e-09");
  CHECK(lr(std::nan("")) == "x.lua:9: fit.optim.lr: expected a number ≥ 0, found nan");
  CHECK(lr(INFINITY) == "x.lua:9: fit.optim.lr: expected a number ≥ 0, found inf");
  CHECK(lr((std::int64_t{1} << 53) + 1).find("found 9007199254740993") != std::string::npos);
  CHECK(lr(0) == "no error");
  const auto sgd = [](double value) { return refused({{"optim", entry("optim.SGD", {{"lr", value}})}}); };
  CHECK(sgd(0) == "fit.optim.lr: expected a number > 0, found 0");
  CHECK(sgd(5e-324) == "no error");
  const auto betas = [](Value value) { return refused({{"optim", adamw({{"betas", std::move(value)}})}}); };
  CHECK(betas(Value::List{0.9, 1}) == "x.lua:9: fit.optim.betas[2]: expected a number in [0, 1), found 1");
  CHECK(betas(Value::List{0.9}) ==
        "x.lua:9: fit.optim.betas: expected a number in [0, 1), or a list of 2, found a list of 1");
  CHECK(betas(Value::List{}).find("found an empty table") != std::string::npos);
}

TEST_CASE("choices and names of entries come with a suggestion") {
  CHECK(refused({{"goal", "maxx"}}) ==
        "fit.goal: expected \"min\" or \"max\", found \"maxx\"\n  hint: did you mean \"max\"?");
  CHECK(refused({{"goal", "upwards"}}) ==
        "fit.goal: expected \"min\" or \"max\", found \"upwards\"\n  hint: accepted: min and max");
  CHECK(refused({{"optim", "adamw"}}) ==
        "fit.optim: expected an optimizer, found \"adamw\"\n  hint: did you mean \"AdamW\"?");
  CHECK(refused({{"optim", "lbfgs"}}) ==
        "fit.optim: expected an optimizer, found \"lbfgs\"\n  hint: accepted: AdamW and SGD");
  CHECK(refused({{"optim", linear(3)}}) ==
        "fit.optim: expected an optimizer, found a layer (nn.Linear)\n  hint: accepted: AdamW and SGD");
  CHECK(refused({{"optim", entry("optim.AdemW")}}) ==
        "fit.optim: there is no optim.AdemW\n  hint: did you mean optim.AdamW?");
  // A name alone must be enough: SGD has no default rate.
  CHECK(refused({{"optim", "SGD"}}) == "fit.optim.lr: missing; expected a number > 0\n  hint: learning rate");
  // A method is no name of a data source.
  CHECK(refused({{"data", "split"}}).find("fit.data: expected a data source, found \"split\"") == 0);
}

TEST_CASE("unknown options come with a suggestion or the accepted names") {
  CHECK(refused({{"optim", adamw({{"ler", 1}})}}) ==
        "x.lua:9: fit.optim: optim.AdamW has no option 'ler'\n  hint: did you mean 'lr'?");
  CHECK(refused({{"optim", adamw({{"momentum", 1}})}}) ==
        "x.lua:9: fit.optim: optim.AdamW has no option 'momentum'\n  hint: accepted: lr and betas");
  CHECK(refused({{"model", entry("nn.ReLU", {{"inplace", true}})}}) ==
        "fit.model: nn.ReLU has no option 'inplace'\n  hint: it takes no options");
  CHECK(refused({{"loader", Value::Map{{"thread", 1}}}}) ==
        "fit.loader: there is no option 'thread'\n  hint: did you mean 'threads'?");
  CHECK(refused({{"loader", Value::Map{{"@at", "x.lua:1"}}}}).find("no option '@at'") != std::string::npos);
  CHECK(refused({{"@as", 1}}).find("fit: there is no option '@as'") != std::string::npos);
  const Value no_source = entry("data:take", {{"sorce", 1}});
  CHECK(refused({{"data", no_source}}).find("accepted: n") != std::string::npos);
}

TEST_CASE("missing options say what belongs there") {
  CHECK(error_of([] {
          entries().check(entry("fit", {{"model", linear(1)}}), "fit");
        }) == "fit.optim: missing; expected an optimizer\n  hint: the optimizer");
  CHECK(refused({{"model", entry("nn.Sequential", {{"layers", Value::List{}}})}}) ==
        "fit.model: expected a layer, or a list of them, found an empty table\n  hint: the layers");
}

TEST_CASE("durations need their unit") {
  CHECK(refused({{"validate", 5}}) ==
        "fit.validate: expected a duration, found 5\n  hint: write \"5 epochs\" or \"5 steps\"");
  CHECK(refused({{"validate", 0.07}}) ==
        "fit.validate: expected a duration, found 0.07\n  hint: write \"7%\" or \"0.07 epochs\"");
  CHECK(refused({{"validate", "5"}})
            .find("fit.validate: expected a duration, found \"5\"\n  hint: a number and a unit") == 0);
  CHECK(refused({{"validate", "-5 steps"}}) == "fit.validate: a duration cannot be negative, found \"-5 steps\"");
}

TEST_CASE("a value in place of a table comes with the table") {
  CHECK(refused({{"loader", 4}}) ==
        "fit.loader: expected a table of options, found 4\n  hint: write loader = { threads = 4 }");
}

TEST_CASE("the path leads through lists, tables, entries and chains") {
  const Value deep =
      entry("nn.Sequential",
            {{"layers",
              Value::List{linear(1), entry("nn.ReLU"),
                          entry("nn.Sequential",
                                {{"layers", Value::List{entry("nn.Conv2d", {{"out", 0}, {"kernel", 3}}, "x.lua:12")}}},
                                "x.lua:10")}}},
            "x.lua:8");
  // The innermost position wins.
  CHECK(refused({{"model", deep}}) ==
        "x.lua:12: fit.model[3].Sequential[1].Conv2d.out: expected an integer ≥ 1, found 0");
  CHECK(refused({{"model", entry("nn.Sequential", {{"layers", Value::List{linear(1), 7}}})}}) ==
        "fit.model[2]: expected a layer, found 7\n  hint: accepted: Conv2d, Linear, ReLU and Sequential");
  CHECK(refused({{"stop", Value::List{function(0), entry("stop.patience", {{"patience", 0}})}}}) ==
        "fit.stop[2].patience.patience: expected an integer ≥ 1, found 0");
  // The stages of a chain all stand at the place of the chain.
  const Value split = entry("data:split", {{"source", entry("data.digits")}, {"train", 2}});
  CHECK(refused({{"data", entry("data:take", {{"source", split}, {"n", 5}})}}) ==
        "fit.data.train: expected a number in (0, 1], found 2");
  // Without a path the entry's own name begins it.
  CHECK(error_of([] {
          entries().check(adamw({{"lr", "fast"}}));
        }) == "x.lua:9: optim.AdamW.lr: expected a number ≥ 0, found \"fast\"");
  CHECK(error_of([] { entries().check(Value(3), "fit"); }) == "fit: expected an entry, found 3");
}

TEST_CASE("free data is kept as it is, but the entries in it are checked") {
  const Value data = Value::Map{{"a", Value::List{1, 2.5, "x"}}, {"f", function(1)}, {"model", linear(3.0)}};
  CHECK(checked("extra", data)["a"] == data["a"]);
  CHECK(checked("extra", data)["f"] == function(1));
  CHECK(checked("extra", data)["model"] == linear(3));
  CHECK(refused({{"extra", Value::Map{{"models", Value::List{linear(0)}}}}}) ==
        "fit.extra.models[1].Linear.out: expected an integer ≥ 1, found 0");
}

}  // namespace trainlab::check_test
