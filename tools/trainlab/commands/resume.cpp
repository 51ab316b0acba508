#include "cli/arguments.h"
#include "cli/ending.h"
#include "cli/requests.h"
#include "core/error.h"
#include "damage.h"
#include "run/folder.h"

namespace trainlab::cli {

Command resume_command() {
  return {
      .name = "resume",
      .line = "go on with an unfinished run",
      .text =
          "Executes the recipe as it is stored in the run. Of a finished run the summary is printed, once its files "
          "are\nknown to be whole.\n",
      .words = {.operand = "RUN", .what = "one run folder", .least = 1, .most = 1},
      .flags = {{.name = "recipe",
                 .type = file_type("FILE"),
                 .help = "execute FILE, a mended recipe: callbacks, metrics and stop rules of\n"
                         "fits and code after the stages may differ from the run's recipe"},
                common_flag("within", "a new budget of time for the whole run, in which the time used so far counts")},
      .works = Command::Works::with_engine,
      .trains = true,
      .continues_run = true,
      .run =
          [](const Program&, const Arguments& given) {
            const std::filesystem::path run = find_run(given.words.front());
            RunFolder held = RunFolder::open(run);
            const bool finished = is_finished(read_summary(run));
            if (given.has("recipe")) {
              recipe_at(given.flags["recipe"].string());
              if (finished)
                throw usage_error("the run in " + run.string() + " is finished: a mended recipe has nothing to repeat");
            }
            if (given.has("within") && finished) {
              throw usage_error("--within: the run in " + run.string() + " is finished")
                  .hint("trainlab extend with a longer total takes --within too");
            }
            if (finished) {
              check_finished(run);
              return tell_summary(run, given.has("json"));
            }
            return supervise(request_for_run(given, run, read_manifest(run)), given, std::move(held));
          },
  };
}

}  // namespace trainlab::cli
