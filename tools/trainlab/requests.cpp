#include "cli/requests.h"

#include <unistd.h>

#include "core/error.h"
#include "run/folder.h"

namespace trainlab::cli {

namespace fs = std::filesystem;

namespace {

fs::path absolute(const fs::path& path) { return fs::absolute(path).lexically_normal(); }

Request common(const Arguments& arguments) {
  Request request;
  request.threads = arguments.threads;
  request.device = arguments.device;
  if (arguments.stdlib) request.stdlib = absolute(*arguments.stdlib);
  request.workers = arguments.workers;
  request.quiet = arguments.quiet;
  request.terminal = ::isatty(STDERR_FILENO) == 1;
  return request;
}

}  // namespace

Request request_for_recipe(const Arguments& arguments) {
  Request request = common(arguments);
  request.command = arguments.help ? Command::parameters : arguments.command == "check" ? Command::check : Command::run;
  request.recipe = absolute(arguments.words.front());
  std::error_code ignored;
  if (!fs::is_regular_file(request.recipe, ignored)) {
    throw usage_error("there is no recipe " + arguments.words.front());
  }
  request.recipe_folder = request.recipe.parent_path();
  request.working_folder = fs::current_path();
  if (arguments.params) request.parameters = read_parameters(*arguments.params);
  request.parameters.insert(request.parameters.end(), arguments.parameters.begin(), arguments.parameters.end());
  request.set = arguments.set;
  if (arguments.out) request.out = absolute(*arguments.out);
  request.seed = arguments.seed;
  request.step = arguments.step;
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
  if (arguments.epochs) request.extend = NewTotal{*arguments.epochs, "epochs"};
  if (arguments.steps) request.extend = NewTotal{*arguments.steps, "steps"};
  if (arguments.trials) request.extend = NewTotal{*arguments.trials, "trials"};
  return request;
}

Request request_for_worker(const Arguments& arguments) {
  const fs::path run = find_run(arguments.words.front());
  if (!holder(run)) {
    throw usage_error("the run in " + run.string() + " is not running: there is nothing to help with")
        .hint("trainlab resume " + run.string());
  }
  Request request = request_for_run(arguments, run, read_manifest(run));
  request.out = run;
  request.helps = true;
  request.joins = true;
  return request;
}

Request request_for_prediction(const Arguments& arguments) {
  const fs::path run = find_run(arguments.words.front());
  const StageRecord stage = find_stage(arguments.words.front(), arguments.stage);
  if (stage.kind != "fit") {
    throw usage_error("stage \"" + stage.name + "\" is a " + stage.kind + ": only a fit has a model that can predict")
        .hint("--stage NAME of a fit");
  }
  Request request = request_for_run(arguments, run, read_manifest(run));
  request.command = Command::predict;
  request.out = run;
  request.device = arguments.device;
  request.seed = arguments.seed;
  Prediction prediction;
  prediction.stage = stage.name;
  prediction.folder = stage.folder;
  prediction.model = arguments.model;
  if (arguments.input) prediction.input = absolute(*arguments.input);
  if (arguments.output) {
    prediction.output = absolute(*arguments.output);
    std::error_code ignored;
    if (fs::is_directory(*prediction.output, ignored)) {
      throw usage_error("--output: expected a file, found the folder " + *arguments.output);
    }
  }
  prediction.format = arguments.format.value_or(arguments.json && !arguments.output ? "json" : prediction.format);
  prediction.batch = arguments.batch.value_or(prediction.batch);
  prediction.prompt = arguments.prompt;
  prediction.length = arguments.length.value_or(prediction.length);
  prediction.temperature = arguments.temperature.value_or(prediction.temperature);
  prediction.top_k = arguments.top_k.value_or(prediction.top_k);
  prediction.top_p = arguments.top_p.value_or(prediction.top_p);
  request.prediction = std::move(prediction);
  return request;
}

}  // namespace trainlab::cli
