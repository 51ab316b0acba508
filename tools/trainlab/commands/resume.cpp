#include "cli/arguments.h"
#include "cli/ending.h"
#include "cli/requests.h"
#include "run/folder.h"

namespace trainlab::cli {

Command resume_command() {
  return {
      .name = "resume",
      .line = "go on with an unfinished run",
      .text = "Executes the recipe as it is stored in the run. Of a finished run the summary is printed.\n",
      .words = {.operand = "RUN", .what = "one run folder", .least = 1, .most = 1},
      .works = Command::Works::with_engine,
      .continues_run = true,
      .run =
          [](const Program&, const Arguments& given) {
            const std::filesystem::path run = find_run(given.words.front());
            RunFolder held = RunFolder::open(run);
            if (is_finished(read_summary(run))) return tell_summary(run, given.has("json"));
            return supervise(request_for_run(given, run, read_manifest(run)), given, std::move(held));
          },
  };
}

}  // namespace trainlab::cli
