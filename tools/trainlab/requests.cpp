#include "cli/requests.h"

#include <unistd.h>

#include <algorithm>

#include "core/error.h"
#include "run/folder.h"

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
    // What a run records is resolved with its manifest.
    if (!flag.recorded && !arguments.has(flag.name)) request.options.set(flag.name, flag.otherwise);
  }
  request.terminal = ::isatty(STDERR_FILENO) == 1;
  return request;
}

}  // namespace

fs::path recipe_at(const std::string& word) {
  std::error_code ignored;
  fs::path recipe = absolute_path(word);
  if (!fs::exists(recipe, ignored)) throw usage_error("there is no recipe " + word);
  if (!fs::is_regular_file(recipe, ignored)) {
    throw usage_error("expected a recipe, which is a regular file, found " +
                      std::string(fs::is_directory(recipe, ignored) ? "the folder " : "a pipe, device or socket: ") +
                      word);
  }
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
