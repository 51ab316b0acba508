#include "cli/arguments.h"
#include "cli/ending.h"
#include "cli/requests.h"
#include "core/error.h"
#include "run/folder.h"
#include "run/shell_word.h"
#include "study/database.h"

namespace trainlab::cli {

namespace {

// The request for an engine that helps with the run. Raises Error{usage} when no process executes the run.
Request request_for_worker(const Arguments& given) {
  const std::filesystem::path run = find_run(given.words.front());
  if (!holder(run)) {
    throw usage_error("the run in " + run.string() + " is not running: there is nothing to help with")
        .hint("trainlab resume " + shell_word(run));
  }
  Request request = request_for_run(given, run, read_manifest(run));
  request.options.set("out", run.string());
  request.helps = true;
  request.joins = true;
  return request;
}

// The request for a new run whose sweep works on the study that another run has begun.
Request request_for_study(const Arguments& given) {
  given_database(given.flags["study"].string());
  Request request = request_for_recipe(given);
  request.command = "run";
  return request;
}

}  // namespace

Command worker_command() {
  return {
      .name = "worker",
      .line = "help with the trials of a running sweep",
      .text =
          "Takes trials of the run's sweep or ensemble until none is left, on the machine on which the run works; "
          "any number of\n"
          "them. A run's own workers are asked for with --workers N or in the recipe. They share the GPUs of the "
          "machine;\n"
          "a worker that joins takes the first, unless it is given another: --device cuda:1.\n"
          "With a study in a database (docs/database.md), workers help from any machine that sees the run's folder;\n"
          "with --study URL also from a machine that does not, in a run of their own.\n",
      .words = {.operand = "RUN | RECIPE.lua",
                .what = "one run folder, or with --study one recipe",
                .least = 1,
                .most = 1,
                .names = FlagType::Names::files},
      .flags = {{.name = "study",
                 .type = text_type("URL"),
                 .help = "execute the recipe, with the parameters of the run, and help with the newest\n"
                         "unfinished study of its sweep in the database postgresql://USER@HOST/DATABASE"}},
      .works = Command::Works::with_engine,
      .recipe_flag = "study",
      .trains = true,
      .run =
          [](const Program&, const Arguments& given) {
            return supervise(given.has("study") ? request_for_study(given) : request_for_worker(given), given);
          },
  };
}

}  // namespace trainlab::cli
