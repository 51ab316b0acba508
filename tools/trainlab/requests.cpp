#include "cli/requests.h"

#include <unistd.h>

#include "core/error.h"
#include "run/folder.h"

namespace trainlab::cli {

namespace fs = std::filesystem;

namespace {

template <class T>
void take(const Value& value, std::optional<T>& into) {
  if (!value.is_nil()) into = static_cast<T>(value.integer());
}

Request common(const Arguments& arguments) {
  const Value& flags = arguments.flags;
  Request request;
  for (const Flag& flag : arguments.command->flags) {
    if (arguments.has(flag.name)) request.options.set(flag.name, flags[flag.name]);
  }
  take(flags["threads"], request.threads);
  take(flags["workers"], request.workers);
  if (arguments.has("device")) request.device = flags["device"].string();
  if (arguments.has("stdlib")) request.stdlib = absolute_path(flags["stdlib"].string());
  request.quiet = arguments.has("quiet");
  request.terminal = ::isatty(STDERR_FILENO) == 1;
  return request;
}

}  // namespace

fs::path absolute_path(const fs::path& path) { return fs::absolute(path).lexically_normal(); }

Request request_for_recipe(const Arguments& arguments) {
  Request request = common(arguments);
  request.command = arguments.has("help") ? "parameters" : arguments.command->name;
  request.recipe = absolute_path(arguments.words.front());
  std::error_code ignored;
  if (!fs::is_regular_file(request.recipe, ignored)) {
    throw usage_error("there is no recipe " + arguments.words.front());
  }
  request.recipe_folder = request.recipe.parent_path();
  request.working_folder = fs::current_path();
  if (arguments.has("params")) request.parameters = read_parameters(arguments.flags["params"].string());
  request.parameters.insert(request.parameters.end(), arguments.parameters.begin(), arguments.parameters.end());
  if (arguments.has("set")) {
    for (const Value& text : arguments.flags["set"].list()) request.set.push_back(text.string());
  }
  if (arguments.has("out")) request.out = absolute_path(arguments.flags["out"].string());
  take(arguments.flags["seed"], request.seed);
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
  request.set = manifest.set;
  request.seed = manifest.seed;
  if (!request.device) request.device = manifest.device;
  return request;
}

}  // namespace trainlab::cli
