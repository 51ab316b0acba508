#include "cli/arguments.h"
#include "cli/ending.h"
#include "cli/requests.h"
#include "core/error.h"
#include "core/value.h"
#include "run/folder.h"
#include "run/stage_files.h"
#include "study/place.h"
#include "study/reader.h"

namespace trainlab::cli {

namespace {

constexpr std::int64_t largest_total = largest_exact - 1;

Flag total_flag(std::string name, std::string help) {
  return {.name = std::move(name), .type = whole_type("N", 1, largest_total), .help = std::move(help)};
}

// Raises Error{usage} unless the last stage has a length of this kind.
void check_last_stage(const Arguments& given, const std::filesystem::path& run) {
  const std::vector<StageRecord> stages = read_stages(run);
  if (stages.empty()) return;  // the engine reports this error
  const std::string& kind = stages.back().kind;
  if (kind == "fit" && given.has("trials")) {
    throw usage_error("--trials: the last stage is a fit, which has no trials").hint("--epochs N or --steps N");
  }
  if (kind == "sweep" && !given.has("trials") && !given.has("time")) {
    throw usage_error("the last stage is a sweep, whose length is a number of trials or a time")
        .hint("--trials N or --time TIME");
  }
  if (kind == "ensemble" && !given.has("time")) {
    throw usage_error("the last stage is an ensemble, which can only be given more time").hint("--time TIME");
  }
  if (kind != "fit" && kind != "sweep" && kind != "ensemble") {
    throw usage_error("the last stage, \"" + stages.back().name + "\", is of kind " + kind +
                      ": only its recipe knows its length");
  }
}

// Raises Error{run} if the study of the last stage, a sweep or an ensemble, is gone or damaged: without its trials
// there is nothing to extend. A study in a database is there without its copy.
void check_last_study(const std::filesystem::path& run) {
  const std::vector<StageRecord> stages = read_stages(run);
  if (stages.empty() || stages.back().kind == "fit") return;
  const std::filesystem::path folder = stage_path(run, stages.back().folder);
  std::error_code ignored;
  if (std::filesystem::exists(folder / "database.json", ignored)) return;
  check_goes_on(folder, stages.back().kind);
  StudyPlace::check_not_lost(folder);
  const StudyPlace place = StudyPlace::of_stage(folder);
  if (place.exists()) place.read([](StudyReader& study) { study.trials(/*with_info=*/false); });
}

int run_extend(const Program&, const Arguments& given) {
  const std::filesystem::path run = find_run(given.words.front());
  RunFolder held = RunFolder::open(run);
  check_last_stage(given, run);
  check_last_study(run);
  Request request = request_for_run(given, run, read_manifest(run));
  for (const std::string& total : given.command->alternatives.flags) {
    if (!given.has(total)) continue;
    request.extend = NewTotal{given.flags[total].number(), total};
  }
  return supervise(request, given, std::move(held));
}

}  // namespace

Command extend_command() {
  return {
      .name = "extend",
      .line = "train a run longer than it was begun for",
      .words = {.operand = "RUN", .what = "one run folder", .least = 1, .most = 1},
      .flags = {total_flag("epochs", "the new total of the last stage, a fit, in epochs"),
                total_flag("steps", "or in steps"),
                {.name = "time",
                 .type = time_type(),
                 .help = "the new budget of time of the last stage, which has such a budget: \"3 h\""},
                total_flag("trials", "the new total of the last stage, a sweep"),
                common_flag("within", "a new budget of time for the whole run, in which the time used so far counts")},
      .alternatives = {.flags = {"epochs", "steps", "time", "trials"},
                       .required = true,
                       .error = "`trainlab extend` needs the new total: --epochs N, --steps N or --time TIME of a fit, "
                                "--trials N or --time TIME of a sweep, --time TIME of an ensemble"},
      .works = Command::Works::with_engine,
      .trains = true,
      .continues_run = true,
      .run = run_extend,
  };
}

}  // namespace trainlab::cli
