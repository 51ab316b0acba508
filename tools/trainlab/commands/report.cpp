#include "report/texts.h"

#include "cli/arguments.h"
#include "cli/ending.h"
#include "core/error.h"
#include "core/files.h"

namespace trainlab::cli {

namespace {

void check_report(const Arguments& given) {
  if (given.words.size() == 1 || !(given.has("csv") || given.has("json") || given.has("html"))) return;
  throw usage_error("--csv, --json and --html report one run at a time");
}

int run_report(const Program&, const Arguments& given) {
  const std::string& first = given.words.front();
  if (given.has("html")) {
    const std::string& file = given.flags["html"].string();
    report::check_replaces_page(file);
    write_atomic(file, report::report_page(first));
    print(report::shown_path(file) + "\n");
  } else if (given.has("csv")) {
    print_data(report::report_csv(first));
  } else if (given.has("json")) {
    print(to_json(report::report_value(first), 2) + "\n");
  } else {
    std::string text;
    for (const std::string& word : given.words) text += (text.empty() ? "" : "\n\n") + report::report_text(word);
    print(text);
  }
  return 0;
}

}  // namespace

Command report_command() {
  return {
      .name = "report",
      .line = "how a run went",
      .text =
          "RUN is a run folder, RUN/stages/NAME for one of its stages, or the file of a study (lab.study { file = "
          "\"NAME.db\" }). Reading never disturbs a run that is under way.\n",
      .words = {.operand = "RUN", .what = "a run folder or a study's file", .least = 1, .most = Words::any},
      .flags = {{.name = "csv",
                 .type = switch_type(),
                 .help = "for a fit a row per validation, for a sweep or an ensemble a row per trial"},
                common_flag("json", "for a fit summary.json; for a sweep or an ensemble also all data of the page"),
                {.name = "html",
                 .type = file_type("FILE"),
                 .help = "a page with charts that needs nothing but a browser"}},
      .alternatives = {.flags = {"csv", "json", "html"}, .error = "one of --csv, --json and --html"},
      .check = check_report,
      .run = run_report,
  };
}

}  // namespace trainlab::cli
