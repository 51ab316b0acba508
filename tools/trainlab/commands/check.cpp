#include "cli/arguments.h"
#include "cli/ending.h"
#include "cli/requests.h"

namespace trainlab::cli {

Command check_command() {
  return {
      .name = "check",
      .line = "validate a recipe and show what it would run",
      .text = "Prints the model's tree, parameters, FLOPs and a memory estimate, and runs nothing.\n",
      .words = {.operand = "RECIPE.lua", .what = "one recipe", .least = 1, .most = 1, .names = FlagType::Names::files},
      .flags = {{.name = "step", .type = switch_type(), .help = "also one training and one validation step"}},
      .works = Command::Works::on_recipe,
      .run = [](const Program&, const Arguments& given) { return supervise(request_for_recipe(given), given); },
  };
}

}  // namespace trainlab::cli
