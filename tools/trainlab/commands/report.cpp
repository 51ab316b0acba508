#include "report/texts.h"

#include "cli/arguments.h"
#include "cli/ending.h"
#include "comparing/record.h"
#include "core/error.h"
#include "planning/ended.h"
#include "report/page.h"

namespace trainlab::cli {

namespace {

void check_report(const Arguments& given) {
  const bool has_form = given.has("csv") || given.has("json") || given.has("html");
  if (given.words.size() > 1 && has_form) throw usage_error("--csv, --json and --html report one run at a time");
  if (given.has("html")) report::check_page(given.flags["html"].string());
}

// A word names a run, the file of a study, or a comparison.
std::string text_about(const std::string& word) {
  const auto shown = comparison_in(word);
  return shown ? comparison_text(shown->comparison, shown->question) : report::report_text(word);
}

std::string csv_about(const std::string& word) {
  if (!comparison_in(word)) return report::report_csv(word);
  throw usage_error("--csv: a comparison is no table").hint("--json, or --csv of one of its runs");
}

Value value_about(const std::string& word) {
  const auto shown = comparison_in(word);
  return shown ? comparison_value(shown->comparison, shown->question) : report::report_value(word);
}

std::string page_about(const std::string& word) {
  const auto shown = comparison_in(word);
  return shown ? page_of_comparison(shown->comparison, shown->question) : report::report_page(word);
}

int run_report(const Program&, const Arguments& given) {
  const std::string& first = given.words.front();
  if (given.words.size() == 1 && is_plan_folder(first)) return report_plan(given);
  const std::optional<std::string> failure = page_failure(given, [&] { return page_about(first); });
  if (given.has("csv")) {
    print_data(csv_about(first));
  } else if (given.has("json")) {
    print(to_json(value_about(first), 2) + "\n");
  } else {
    std::string text;
    for (const std::string& word : given.words) text += (text.empty() ? "" : "\n\n") + text_about(word);
    print(text);
  }
  return end_with(failure);
}

}  // namespace

Command report_command() {
  return {
      .name = "report",
      .line = "how a run went",
      .text =
          "RUN is a run folder, RUN/stages/NAME for one of its stages, the file of a study (lab.study { file =\n"
          "\"NAME.db\" }), the folder of a comparison (runs/compare/NAME/NNN), or, alone, that of a plan\n"
          "(runs/plan/NAME/NNN). Reading never disturbs a run that is under way.\n",
      .words = {.operand = "RUN",
                .what = "a run folder, a study's file or the folder of a comparison or a plan",
                .least = 1,
                .most = Words::any},
      .flags = {{.name = "csv",
                 .type = switch_type(),
                 .help = "for a fit a row per validation, for a sweep or an ensemble a row per trial"},
                common_flag("json", "for a fit summary.json; for a sweep or an ensemble also all data of the page"),
                {.name = "html",
                 .type = file_type("FILE"),
                 .help = "also writes a page with charts that needs nothing but a browser"}},
      .alternatives = {.flags = {"csv", "json"}, .error = "one of --csv and --json"},
      .check = check_report,
      .run = run_report,
  };
}

}  // namespace trainlab::cli
