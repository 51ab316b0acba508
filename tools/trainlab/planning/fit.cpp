// `trainlab plan fit`: a scaling law from one's own runs.
#include "plan/fit.h"
#include "cli/ending.h"
#include "core/error.h"
#include "planning/text.h"
#include "planning/topic.h"

namespace trainlab::cli {

namespace {

void check_fit(const Arguments& given) {
  if (given.words.empty()) throw usage_error("`trainlab plan fit` needs a CSV file or the folders of fits");
}

int plan_fit(const Arguments& given) {
  const ReadRuns runs = read_runs(given.words);
  for (const std::string& one : runs.cut_short) say(given, one + "; the law leaves the run out");
  const LawFit fit = fit_law(runs.points);
  print(given.has("json") ? to_json(to_value(fit), 2) + "\n" : fit_text(fit));
  return 0;
}

}  // namespace

PlanTopic fit_topic() { return {.word = "fit", .check = check_fit, .run = plan_fit}; }

}  // namespace trainlab::cli
