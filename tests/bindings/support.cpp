#include "support.h"

#include <unistd.h>

#include "bindings/lua_entries.h"
#include "objects/run_handle.h"
#include "study/study.h"
#include "task/task.h"

namespace trainlab::testing {

namespace {

Registry make_registry() {
  Registry registry;
  register_language(registry);
  register_tensors(registry);
  register_study(registry);
  register_objects(registry);
  register_task(registry);
  registry.add(
      Entry("stage", "stage", "A stage of the tests.")
          .with(Option("name", "its name").string())
          .with(Option("value", "any data").any())
          .with(Option("call", "a function").function("function(x) → y"))
          .with(Option("model", "layers").entry("layer"))
          .with(Option("optim", "the optimizer").entry("optimizer"))
          .with(Option("data", "the data").entry("data"))
          .with(Option("epochs", "length").integer().at_least(1))
          .with(Option("loader", "how data is loaded").fields({Option("threads", "threads").integer().at_least(1)})));
  registry.add(Entry("nn.Linear", "layer", "A linear map.")
                   .with(Option("out", "outputs").integer().at_least(1).required().positional())
                   .with(Option("bias", "adds a bias").boolean().or_default(true)));
  registry.add(Entry("nn.ReLU", "layer", "max(0, x)."));
  registry.add(Entry("nn.Conv2d", "layer", "Convolution.")
                   .with(Option("channels", "outputs").integer().at_least(1).required().positional())
                   .with(Option("kernel", "window").integer().at_least(1).many(2).required().positional())
                   .with(Option("stride", "step").integer().at_least(1).many(2)));
  registry.add(Entry("nn.MaxPool2d", "layer", "The largest element of each window.")
                   .with(Option("kernel", "size of a window").integer().at_least(1).many(2).positional().required())
                   .with(Option("stride", "step").integer().at_least(1).many(2).positional())
                   .with(Option("ceil", "keeps a last window").boolean().positional()));
  registry.add(
      Entry("nn.Sequential", "layer", "Layers in order.").with(Option("layers", "the layers").entry("layer").array()));
  registry.add(Entry("nn.Residual", "layer", "Adds its input.")
                   .with(Option("body", "the layers").entry("layer").array())
                   .with(Option("shortcut", "for the input").entry("layer")));
  registry.add(Entry("optim.SGD", "optimizer", "Gradient descent.")
                   .with(Option("lr", "learning rate").number().more_than(0).or_default(0.01))
                   .with(Option("momentum", "momentum").number().at_least(0).less_than(1)));
  registry.add(Entry("data.csv", "data", "A table.")
                   .with(Option("path", "the file").path().required().positional())
                   .with(Option("label", "column").string()));
  registry.add(Entry("data:split", "data", "Cuts the data.")
                   .with(Option("train", "share").number().at_least(0))
                   .with(Option("val", "share").number().at_least(0)));
  return registry;
}

}  // namespace

const Registry& test_registry() {
  static const Registry registry = make_registry();
  return registry;
}

Folder::Folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "trainlab-XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()) != nullptr);
  path_ = std::filesystem::canonical(pattern);
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void Folder::write(const std::string& path, const std::string& text) const {
  std::filesystem::create_directories((path_ / path).parent_path());
  std::ofstream(path_ / path, std::ios::binary) << text;
}

Sandbox::Sandbox() {
  run = [](const std::shared_ptr<const Spec>&) { return Value(Value::Map{}); };
}

Recipe::Outcome Sandbox::execute(const std::string& text) {
  folder.write("x.lua", text);
  recipe.reset();
  parameters =
      std::make_unique<Parameters>(given, folder.path(), describe, flags,
                                   [this](const std::string& name, const Value& value) { declared[name] = value; });
  LuaHost host;
  host.registry = &test_registry();
  host.limits = limits;
  host.stdlib = stdlib_sources();
  host.seed = 7;
  host.device = [this] { return device; };
  host.started = 1'700'000'000;
  host.recipe_folder = folder.path().string();
  host.print = [this](const std::string& line) { printed.push_back(line); };
  host.silent = silent;
  recipe = std::make_unique<Recipe>(
      std::move(host), RecipeFiles{folder.path() / "x.lua", {folder.path()}, "x.lua"}, *parameters,
      Recipe::Calls{[this](const auto& stage) {
                      return StageResult{run(stage), {}, nullptr};
                    },
                    [this](const std::string& path, std::string_view) { sources.push_back(path); }});
  return recipe->execute();
}

Error Sandbox::fails(const std::string& text) {
  try {
    execute(text);
  } catch (const Error& error) {
    return error;
  }
  FAIL("no error from: " << text);
  throw std::logic_error("unreachable");
}

Value Sandbox::value(const std::string& text) {
  const Recipe::Outcome outcome = execute(text);
  REQUIRE(outcome.stage);
  return outcome.stage->value["value"];
}

std::shared_ptr<Callable> returned_function(const Recipe::Outcome& outcome, const std::string& option) {
  REQUIRE(outcome.stage);
  std::shared_ptr<Callable> function = outcome.stage->function(outcome.stage->value[option]);
  REQUIRE(function);
  return function;
}

}  // namespace trainlab::testing
