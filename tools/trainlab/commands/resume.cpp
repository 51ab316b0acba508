#include <cstdio>

#include "cli/arguments.h"
#include "cli/ending.h"
#include "cli/requests.h"
#include "core/devices/plugin_file.h"
#include "core/error.h"
#include "core/printable.h"
#include "damage.h"
#include "report/texts.h"
#include "run/budget.h"
#include "run/folder.h"
#include "run/supervisor.h"
#include "run/unpublished.h"

namespace trainlab::cli {

namespace {

// A damaged file without which a run cannot go on is told with all else that is damaged.
template <class Read>
auto whole(const std::filesystem::path& run, const Read& read) {
  try {
    return read(run);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::run) check_files(run);
    throw;
  }
}

// The engine, which knows the devices, does not start for a finished run.
void check_device(const std::string& device) {
  const std::string kind = device.substr(0, device.find(':'));
  if (kind == "auto" || kind == "cpu" || kind == "cuda") return;
  const std::filesystem::path plugin = device_plugin_file(kind, Supervisor::find_engine().parent_path());
  std::error_code ignored;
  if (!std::filesystem::exists(plugin, ignored)) throw unknown_device(device, plugin);
}

}  // namespace

Command resume_command() {
  return {
      .name = "resume",
      .line = "go on with an unfinished run",
      .text =
          "Executes the recipe as it is stored in the run. Of a finished run the summary is printed, once its files\n"
          "are known to be whole; where the run was killed before its promotion, the link to the model that is served\n"
          "moves now. A run that its budget of time has ended goes on in a larger one (--within).\n",
      .words = {.operand = "RUN", .what = "one run folder", .least = 1, .most = 1},
      .flags = {{.name = "recipe",
                 .type = file_type("FILE"),
                 .help = "execute FILE, a mended recipe: callbacks, metrics and stop rules of\n"
                         "fits, all functions of a fit in which one of them has failed, stages\n"
                         "that have not begun and code after the stages may differ from the\n"
                         "run's recipe"},
                common_flag("within", "a new budget of time for the whole run, in which the time used so far counts")},
      .works = Command::Works::with_engine,
      .trains = true,
      .continues_run = true,
      .run =
          [](const Program&, const Arguments& given) {
            const std::filesystem::path run = find_run(given.words.front());
            RunFolder held = RunFolder::open(run);
            const Value summary = whole(run, read_summary);
            const bool has_ended = is_finished(summary);
            const Manifest manifest = whole(run, read_manifest);
            const Value within = given.has("within") ? given.flags["within"] : manifest.setting("within");
            const std::optional<BudgetPause> pause = has_ended ? budget_pause(run) : std::nullopt;
            const bool finished = has_ended && !(pause && pause->goes_on_within(within));
            if (given.has("recipe")) {
              recipe_at(given.flags["recipe"].string());
              if (finished)
                throw usage_error("the run in " + run.string() + " is finished: a mended recipe has nothing to repeat");
            }
            if (finished && given.has("within") && pause) pause->check_more(within.number());
            if (given.has("within") && finished) {
              throw usage_error("--within: the run in " + run.string() + " is finished")
                  .hint("trainlab extend with a longer total takes --within too");
            }
            if (!finished) return supervise(request_for_run(given, run, manifest), given, std::move(held));
            if (given.has("device")) check_device(given.flags["device"].string());
            check_files(run);
            // The engine finds all stages finished, and does what is left.
            if (has_unpublished(run)) return supervise(request_for_run(given, run, manifest), given, std::move(held));
            settle_studies(run);
            if (pause)
              std::fputs(("trainlab: " + printable(pause->text(report::shown_path(run))) + "\n").c_str(), stderr);
            return tell_summary(run, summary, given.has("json"));
          },
  };
}

}  // namespace trainlab::cli
