#include "cli/requests.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.h"
#include "core/files.h"
#include "run/folder.h"
#include "run/manifest.h"
#include "run/shell_word.h"

namespace trainlab::cli {

namespace fs = std::filesystem;

namespace {

// Makes a path, or each path in a list, absolute, and adds the paths to `named`.
Value with_absolute_paths(const Value& value, std::vector<fs::path>& named) {
  if (!value.is_list()) return named.emplace_back(absolute_path(value.string())).string();
  Value::List all;
  for (const Value& path : value.list()) all.push_back(with_absolute_paths(path, named));
  return all;
}

// Raises if an option is set twice, because one of the two values would be dropped silently.
void check_set_once(const Request& request) {
  std::vector<std::string> seen;
  for (const std::string& text : request.texts("set")) {
    const std::string option = text.substr(0, text.find('='));
    if (std::ranges::find(seen, option) != seen.end()) {
      throw usage_error("--set " + text + ": expected one value for " + option + ", found a second")
          .hint("a list is one value: --set 'betas=[0.9, 0.95]'");
    }
    seen.push_back(option);
  }
}

Request common(const Arguments& arguments) {
  Request request;
  for (const auto& [name, value] : arguments.flags.map()) {
    const bool is_path = find_flag(arguments.command, name)->type.names != FlagType::Names::nothing;
    request.options.set(name, is_path ? with_absolute_paths(value, request.named) : value);
  }
  for (const Flag& flag : flags_of(arguments.command)) {
    // The values that a run records are resolved with its manifest.
    if (!flag.recorded && !arguments.has(flag.name)) request.options.set(flag.name, flag.otherwise);
  }
  request.terminal = ::isatty(STDERR_FILENO) == 1;
  return request;
}

// Kinds of files that are taken for recipes by mistake.
struct OtherFile {
  std::string_view ending, what, hint;
};

constexpr std::string_view for_parameters = "values of a recipe's parameters: trainlab RECIPE.lua --params FILE.toml";
constexpr std::string_view for_tables =
    "a recipe reads a table: lab.data.csv { path = \"FILE.csv\", target = \"COLUMN\" }";
constexpr std::string_view for_weights =
    "a fit begins with stored weights by init = lab.init.weights \"FILE.safetensors\"";
constexpr std::string_view for_pickles =
    "in Python safetensors.torch.save_model(model, \"FILE.safetensors\") writes weights that lab.init.weights reads";
constexpr std::string_view for_python = "a recipe is written in Lua: docs/guide.md and docs/lua.md";

constexpr auto other_files = std::to_array<OtherFile>({
    {".csv", "a table", for_tables},
    {".ipynb", "a notebook", for_python},
    {".json", "JSON", for_parameters},
    {".npz", "arrays", "a recipe reads arrays: lab.data.npz { \"FILE.npz\", x = \"NAME\" }"},
    {".pt", "weights of PyTorch", for_pickles},
    {".pth", "weights of PyTorch", for_pickles},
    {".py", "a program in Python", for_python},
    {".safetensors", "tensors", for_weights},
    {".toml", "TOML", for_parameters},
    {".tsv", "a table", for_tables},
    {".yaml", "YAML", for_parameters},
    {".yml", "YAML", for_parameters},
});

// Raises an error for a file that cannot be a recipe. `word`: the file as the user named it.
void check_recipe(const fs::path& file, const std::string& word) {
  const auto other = std::ranges::find(other_files, file.extension().string(), &OtherFile::ending);
  if (other != other_files.end()) {
    throw usage_error("expected a recipe, a text in Lua, found " + std::string(other->what) + ": " + word)
        .hint(std::string(other->hint));
  }
  constexpr std::size_t beginning = 4096;
  if (first_bytes(file, beginning).find('\0') != std::string::npos)
    throw usage_error("expected a recipe, a text in Lua, found a binary file: " + word);
}

}  // namespace

fs::path recipe_at(const std::string& word) {
  std::error_code ignored;
  fs::path recipe = absolute_path(word);
  if (!fs::exists(recipe, ignored)) throw usage_error("there is no recipe " + word);
  if (!fs::is_regular_file(recipe, ignored)) {
    Error error = usage_error("expected a recipe, which is a regular file, found " + unusual_file(recipe) + word);
    const std::string run = shell_word(word);
    if (fs::exists(manifest_path(recipe), ignored))
      error.hint("it is a run: trainlab report " + run + " shows it, trainlab resume " + run + " continues it");
    throw error;
  }
  check_recipe(recipe, word);
  return recipe;
}

fs::path absolute_path(const fs::path& path) { return fs::absolute(path).lexically_normal(); }

Request request_for_recipe(const Arguments& arguments) {
  Request request = common(arguments);
  check_set_once(request);
  request.command = arguments.has("help") ? "parameters" : arguments.command->name;
  const bool has_choice = !arguments.command->words.choices.empty();
  if (has_choice) request.choice = arguments.words.front();
  request.recipe = recipe_at(arguments.words[has_choice ? 1 : 0]);
  request.recipe_folder = request.recipe.parent_path();
  const bool has_second = !has_choice && arguments.words.size() > 1 && arguments.command->words.most > 1;
  if (has_second) request.second = recipe_at(arguments.words.back());
  request.working_folder = fs::current_path();
  if (arguments.has("params")) request.parameters = read_parameters(arguments.flags["params"].string());
  request.parameters.insert(request.parameters.end(), arguments.parameters.begin(), arguments.parameters.end());
  // One of them may be meant by a parameter that the recipe does not have.
  request.options.set("flags", Value::List(arguments.known_flags.begin(), arguments.known_flags.end()));
  return request;
}

Request request_for_run(const Arguments& arguments, const fs::path& run, const Manifest& manifest) {
  Request request = common(arguments);
  request.recipe = run / "recipe" / manifest.recipe;
  std::error_code ignored;
  if (!fs::is_regular_file(request.recipe, ignored)) {
    throw usage_error("the run has lost its recipe: there is no " + request.recipe.string());
  }
  request.recipe_folder = manifest.recipe_folder;
  request.working_folder = manifest.working_folder;
  for (const auto& [name, value] : manifest.parameters) {
    request.parameters.push_back({name, value.is_string() ? value.string() : to_json(value), "manifest.toml"});
  }
  for (const Flag& flag : common_flags()) {
    const Value* recorded = flag.recorded ? &manifest.setting(flag.name) : nullptr;
    if (recorded && !request.has(flag.name) && *recorded != flag.otherwise) {
      request.options.set(flag.name, *recorded);
    }
  }
  return request;
}

}  // namespace trainlab::cli
