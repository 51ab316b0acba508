#include "cli/arguments.h"
#include "cli/ending.h"
#include "cli/requests.h"
#include "core/error.h"

namespace trainlab::cli {

Command find_command() {
  Command command{
      .name = "find",
      .line = "find a learning rate, a batch, a loader or an optimizer for a fit",
      .text =
          "`trainlab find lr RECIPE.lua` trains the fit for some steps at a rate that grows from 1e-6 to 10, with\n"
          "several seeds: the start is a quarter of the rate at which the loss was least. Then the start and rates 4\n"
          "times smaller and larger are trained from new weights for as many steps, and the best of the three is\n"
          "suggested if it is better by more than the noise.\n"
          "`trainlab find batch RECIPE.lua` trains the fit, measures at three places how noisy its gradients are, and\n"
          "times steps of several sizes: which batch reaches the same loss soonest, and what it saves and costs.\n"
          "`trainlab find loader RECIPE.lua` trains with more and fewer threads that prepare batches, and with more "
          "and\n"
          "fewer batches ahead: the fewest threads and batches with which the fit is as fast as with any.\n"
          "`trainlab find optimizer RECIPE.lua` trains the fit with its own optimizer, AdamW, SGD with momentum, "
          "RMSprop\n"
          "and Lion, each at nine rates or more: which is best, and how exactly its rate must be chosen.\n"
          "Of a sweep or an ensemble the fit of the first trial is searched for. Nothing is written but the file of\n"
          "--apply. More: docs/health.md\n"};
  command.words = {.operand = "lr|batch|loader|optimizer RECIPE.lua",
                   .what = "lr, batch, loader or optimizer, and one recipe",
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
    if (what != "lr" && what != "batch" && what != "loader" && what != "optimizer")
      throw usage_error("trainlab find: expected lr, batch, loader or optimizer, found \"" + what + "\"")
          .hint("trainlab find lr RECIPE.lua");
    if (what == "optimizer" && given.has("apply"))
      throw usage_error("--apply: expected lr, batch or loader, found optimizer")
          .hint("another optimizer is written into the recipe: optim = lab.optim.AdamW { lr = 1e-3 }");
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
