#include "cli/arguments.h"
#include "cli/ending.h"
#include "cli/requests.h"
#include "core/error.h"
#include "run/applied.h"
#include "run/latest.h"
#include "run/manifest.h"

namespace trainlab::cli {

namespace {

namespace fs = std::filesystem;

// The recipe of the newest run of this name that has ended, where it lay when that run was begun.
std::string recipe_of_latest(const std::string& name) {
  const fs::path runs = fs::path("runs") / name;
  const fs::path run = latest_run(runs);
  if (run.empty()) {
    throw usage_error("--latest " + name + ": no run in " + absolute_path(runs).string() + " has ended")
        .hint("the first run names its recipe: trainlab RECIPE.lua");
  }
  const Manifest manifest = read_manifest(run);
  const fs::path recipe = manifest.recipe_folder / manifest.recipe;
  std::error_code ignored;
  if (!fs::is_regular_file(recipe, ignored)) {
    throw usage_error("--latest " + name + ": the recipe of " + absolute_path(run).string() +
                      " is gone: " + recipe.string())
        .hint("the run has a copy: " + absolute_path(run / "recipe" / manifest.recipe).string());
  }
  return recipe.string();
}

}  // namespace

Command run_command() {
  return {
      .name = "run",
      .line = "train the recipe's stage; `run` may be left out",
      .is_default = true,
      .text =
          "Runs the recipe in runs/NAME/NNN, or in the folder given by --out; an unfinished run of the same recipe "
          "there is\n"
          "continued. `trainlab RECIPE.lua --help` shows the recipe's own parameters.\n",
      .words = one_recipe(),
      .flags = {{.name = "apply",
                 .type = file_type("FILE"),
                 .help = "options that `trainlab profile` or `trainlab find` has written with --apply FILE"},
                {.name = "latest",
                 .type = text_type("NAME"),
                 .help = "in place of a recipe: the recipe of the newest run in runs/NAME that has\n"
                         "ended, as it is now, in a new run"}},
      .works = Command::Works::on_recipe,
      .found_by = "latest",
      .find_recipe = recipe_of_latest,
      .trains = true,
      .run =
          [](const Program&, const Arguments& given) {
            Request request = request_for_recipe(given);
            if (given.has("apply") && !given.has("help")) {
              if (const auto warning = apply_changes(*request.path("apply"), request))
                warn(*warning);
            }
            return supervise(request, given);
          },
  };
}

}  // namespace trainlab::cli
