#include "cli/arguments.h"
#include "cli/ending.h"
#include "cli/requests.h"
#include "core/error.h"

namespace trainlab::cli {

Command find_command() {
  Command command{
      .name = "find",
      .line = "find a learning rate or a batch for a fit",
      .text =
          "`trainlab find lr RECIPE.lua` trains the fit for some steps at a rate that grows from 1e-6 to 10, with\n"
          "several seeds: the start is a quarter of the rate at which the loss was least. Then the start and rates 4\n"
          "times smaller and larger are trained from new weights for as many steps, and the best of the three is\n"
          "suggested where it is better beyond the noise.\n"
          "`trainlab find batch RECIPE.lua` trains the fit, measures at three places how noisy its gradients are, and\n"
          "times steps of several sizes: the batch that is soonest at the same loss, what it saves and what it costs.\n"
          "Nothing is written but the file of --apply. More: docs/health.md\n"};
  command.words = {.operand = "lr|batch RECIPE.lua",
                   .what = "lr or batch, and one recipe",
                   .least = 2,
                   .most = 2,
                   .names = FlagType::Names::files,
                   .offers = {}};
  command.flags = {{.name = "stage", .type = text_type("NAME"), .help = "name of the stage (default: the first)"},
                   {.name = "apply",
                    .type = file_type("FILE"),
                    .help = "writes what is suggested, for `trainlab run --apply FILE`"}};
  command.works = Command::Works::on_recipe;
  command.check = [](const Arguments& given) {
    const std::string& what = given.words.front();
    if (what != "lr" && what != "batch")
      throw usage_error("expected `trainlab find lr RECIPE.lua` or `trainlab find batch RECIPE.lua`, found \"" + what +
                        "\"");
  };
  command.run = [](const Program&, const Arguments& given) {
    Arguments on_recipe = given;
    on_recipe.words.erase(on_recipe.words.begin());
    Request request = request_for_recipe(on_recipe);
    request.options.set("finder", given.words.front());
    return supervise(request, on_recipe);
  };
  return command;
}

}  // namespace trainlab::cli
