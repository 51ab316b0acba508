#include "cli/arguments.h"
#include "cli/ending.h"
#include "cli/requests.h"
#include "run/applied.h"

namespace trainlab::cli {

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
                 .help = "options that `trainlab profile` or `trainlab find` has written with --apply FILE"}},
      .works = Command::Works::on_recipe,
      .trains = true,
      .run =
          [](const Program&, const Arguments& given) {
            Request request = request_for_recipe(given);
            if (given.has("apply") && !given.has("help")) apply_changes(*request.path("apply"), request);
            return supervise(request, given);
          },
  };
}

}  // namespace trainlab::cli
