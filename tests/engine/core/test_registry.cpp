#include <catch2/catch.hpp>
#include <functional>

#include "engine/core/sample_registry.h"

namespace trainlab::registry_test {

using sample::error_of;

namespace {

// The message of the std::logic_error that adding raises.
std::string refusal(Entry entry) {
  Registry registry = sample::registry();
  try {
    registry.add(std::move(entry));
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "accepted";
}

Entry with(Option option) { return Entry("x.New", "layer", "New.").with(std::move(option)); }

}  // namespace

TEST_CASE("entries are found by name and kind, in order") {
  const Registry registry = sample::registry();
  REQUIRE(registry.find("nn.Linear"));
  CHECK(registry.find("nn.Linear")->kind == "layer");
  CHECK_FALSE(registry.find("nn.linear"));
  std::vector<std::string> losses;
  for (const Entry* entry : registry.of_kind("loss")) losses.push_back(entry->name);
  CHECK(losses == std::vector<std::string>{"loss.cross_entropy", "loss.mse"});
  CHECK(registry.entries().size() == 19);
  CHECK(registry.entries().front()->name == "data.csv");
}

TEST_CASE("a careless declaration is refused when it is made") {
  CHECK(refusal(Entry("nn.Linear", "layer", "Again.")).find("declared twice") != std::string::npos);
  CHECK(refusal(Entry("x.New", "layer", "")).find("no doc") != std::string::npos);
  CHECK(refusal(Entry("x.New", "", "New.")).find("no kind") != std::string::npos);
  for (const char* name : {"", "x.", ".x", "x y", "x:y:z", "x:y.z", "9x", "x..y"}) {
    CAPTURE(name);
    CHECK(refusal(Entry(name, "layer", "New.")).find("not a name") != std::string::npos);
  }
  CHECK(refusal(with(Option("a", "").number())).find("'a' has no doc") != std::string::npos);
  CHECK(refusal(with(Option("a", "doc"))).find("'a' has no form") != std::string::npos);
  CHECK(refusal(with(Option("a b", "doc").number())).find("no identifier") != std::string::npos);
  CHECK(refusal(with(Option("a", "doc").number()).with(Option("a", "doc").number())).find("declared twice") !=
        std::string::npos);
  CHECK(
      refusal(with(Option("a", "doc").number().array()).with(Option("b", "doc").number().array())).find("two array") !=
      std::string::npos);
  CHECK(refusal(with(Option("a", "doc").number().required().or_default(1))).find("required and has a default") !=
        std::string::npos);
  CHECK(refusal(with(Option("a", "doc").fields({Option("b", "").number()}))).find("'b' has no doc") !=
        std::string::npos);
}

TEST_CASE("defaults fit their own declaration and are kept in normal form") {
  CHECK(refusal(with(Option("a", "doc").integer().at_least(1).or_default(0))) ==
        "registry: x.New: the default of option 'a' does not fit: expected an integer ≥ 1, found 0");
  CHECK(refusal(with(Option("a", "doc").choice({"x", "y"}).or_default("z"))).find("does not fit") != std::string::npos);
  CHECK(refusal(with(Option("a", "doc").entry("loss").or_default("hinge"))).find("does not fit") != std::string::npos);

  const Registry registry = sample::registry();
  CHECK(registry.find("nn.Conv2d")->find("padding")->fallback == Value(Value::List{0, 0}));
  CHECK(registry.find("fit")->find("loss")->fallback == sample::entry("loss.cross_entropy"));
  CHECK(registry.find("fit")->find("validate")->fallback == Value("1 epoch"));
}

TEST_CASE("implementations are kept with their type") {
  using Factory = std::function<int(int)>;
  Registry registry;
  registry.add(Entry("x.Twice", "layer", "Twice."), Factory([](int n) { return 2 * n; }));
  registry.add(Entry("x.None", "layer", "None."));
  CHECK(registry.implementation<Factory>(*registry.find("x.Twice"))(21) == 42);
  CHECK_THROWS_AS(registry.implementation<int>(*registry.find("x.Twice")), std::logic_error);
  CHECK_THROWS_AS(registry.implementation<Factory>(*registry.find("x.None")), std::logic_error);
}

TEST_CASE("arguments by position and by name are joined") {
  const Registry registry = sample::registry();
  const auto assemble = [&](const char* name, Value::List positional, Value::Map named = {}) {
    return Value(registry.assemble(*registry.find(name), std::move(positional), std::move(named)));
  };
  CHECK(assemble("nn.Linear", {64}) == sample::linear(64));
  CHECK(assemble("nn.Linear", {64}, {{"bias", false}}) == sample::entry("nn.Linear", {{"out", 64}, {"bias", false}}));
  CHECK(assemble("nn.Conv2d", {8, Value::List{3, 5}}) ==
        sample::entry("nn.Conv2d", {{"out", 8}, {"kernel", Value::List{3, 5}}}));
  CHECK(assemble("nn.Conv2d", {Value(), 3}) == sample::entry("nn.Conv2d", {{"kernel", 3}}));
  CHECK(assemble("nn.Sequential", {"a", "b"}, {{"label", "c"}}) ==
        sample::entry("nn.Sequential", {{"layers", Value::List{"a", "b"}}, {"label", "c"}}));
  CHECK(assemble("nn.ReLU", {}) == sample::entry("nn.ReLU"));
  // The object before the colon comes first.
  CHECK(assemble("data:take", {sample::entry("data.digits"), 10}) ==
        sample::entry("data:take", {{"source", sample::entry("data.digits")}, {"n", 10}}));
  CHECK(assemble("run:stop", {"enough"}) == sample::entry("run:stop", {{"reason", "enough"}}));
}

TEST_CASE("arguments too many or given twice are refused") {
  const Registry registry = sample::registry();
  const auto refused = [&](const char* name, Value::List positional, Value::Map named = {}) {
    return error_of([&] { registry.assemble(*registry.find(name), std::move(positional), std::move(named)); });
  };
  CHECK(refused("nn.Linear", {64, 32}) ==
        "nn.Linear: takes 1 by position (out), found 2\n  hint: input sizes are inferred: nn.Linear(out)");
  CHECK(refused("optim.AdamW", {0.1}) ==
        "optim.AdamW: takes only named options, found 1 without a name (0.1)\n  hint: write optim.AdamW { lr = … }");
  CHECK(refused("nn.ReLU", {1}) == "nn.ReLU: takes no options, found 1");
  CHECK(refused("nn.Linear", {64}, {{"out", 32}}) == "nn.Linear: 'out' is given twice, by position and by name");
  CHECK(refused("nn.Sequential", {1}, {{"layers", 32}}).find("'layers' is given twice") != std::string::npos);
}

TEST_CASE("the closest name is found within a third of the word") {
  const std::vector<std::string> names{"lr", "betas", "weight_decay", "AdamW", "SGD", "momentum"};
  CHECK(Registry::closest("ler", names) == "lr");
  CHECK(Registry::closest("lt", names) == "lr");
  CHECK(Registry::closest("weigth_decay", names) == "weight_decay");  // neighbours swapped
  CHECK(Registry::closest("weightdecay", names) == "weight_decay");
  CHECK(Registry::closest("wadma", names) == "AdamW");  // the same letters
  CHECK(Registry::closest("adamw", names) == "AdamW");
  CHECK(Registry::closest("sgd", names) == "SGD");
  CHECK(Registry::closest("Adam", names) == "AdamW");
  CHECK(Registry::closest("weight", names) == "weight_decay");  // none is so close, and this begins with it
  CHECK(Registry::closest("we", names).empty());
  CHECK(Registry::closest("monumental", names).empty());
  CHECK(Registry::closest("x", names).empty());
  CHECK(Registry::closest("", names).empty());
  CHECK(Registry::closest(std::string(1000000, 'a'), names).empty());
  CHECK(Registry::closest("lr", {}).empty());
}

TEST_CASE("a name from elsewhere is answered with the name here") {
  const std::vector<std::string> names{"batch", "lr", "epochs", "optim", "accuracy", "auc", "on", "schedule"};
  CHECK(Registry::closest("batch_size", names) == "batch");
  CHECK(Registry::closest("learning_rate", names) == "lr");
  CHECK(Registry::closest("Max_Epochs", names) == "epochs");
  CHECK(Registry::closest("optimizer", names) == "optim");
  CHECK(Registry::closest("acc", names) == "accuracy");
  CHECK(Registry::closest("callbacks", names) == "on");
  CHECK(Registry::closest("lr_scheduler", names) == "schedule");
  CHECK(Registry::closest("criterion", names).empty());  // whose counterpart is not among the names
}

TEST_CASE("the table of entries goes through JSON and back") {
  const Registry registry = sample::registry();
  const Registry back = Registry::from_value(parse_json(to_json(registry.to_value()), "table"));
  CHECK(back.to_value() == registry.to_value());
  CHECK(luacats_meta(back) == luacats_meta(registry));
  for (const Entry* entry : registry.entries()) {
    const Entry* other = back.find(entry->name);
    REQUIRE(other);
    CHECK(help_text(*other) == help_text(*entry));
    REQUIRE(other->options.size() == entry->options.size());
    for (std::size_t i = 0; i < entry->options.size(); ++i) {
      CHECK(other->options[i].type_text() == entry->options[i].type_text());
      CHECK(other->options[i].fallback == entry->options[i].fallback);
      CHECK(other->options[i].is_required == entry->options[i].is_required);
      CHECK(other->options[i].is_positional == entry->options[i].is_positional);
      CHECK(other->options[i].min == entry->options[i].min);
    }
  }
  CHECK(back.check(sample::fit(), "fit") == registry.check(sample::fit(), "fit"));
}

}  // namespace trainlab::registry_test
