// `trainlab plan fit`: a scaling law from one's own runs.
#include "plan/fit.h"
#include "cli/ending.h"
#include "core/error.h"
#include "planning/text.h"
#include "planning/topic.h"
#include "report/texts.h"

namespace trainlab::cli {

namespace {

void check_fit(const Arguments& given) {
  if (given.words.empty()) throw usage_error("`trainlab plan fit` needs a CSV file or the folders of fits");
}

int plan_fit(const Arguments& given) {
  const ReadRuns runs = read_runs(given.words);
  for (const std::string& one : runs.left_out) say(given, one + "; the law leaves the run out");
  const LawFit fit = fit_law(runs.points);
  const auto failure = page_failure(given, [&] {
    Value page = page_value(fit, runs.points);
    const std::vector<std::string>& words = given.words;
    page.set("of", words.front() + (words.size() > 1 ? " … " + words.back() : ""));
    page.set("left_out", Value::List(runs.left_out.begin(), runs.left_out.end()));
    return report::law_page(page);
  });
  print(given.has("json") ? to_json(to_value(fit), 2) + "\n" : fit_text(fit));
  return end_with(failure);
}

}  // namespace

PlanTopic fit_topic() { return {.word = "fit", .flags = {"html"}, .check = check_fit, .run = plan_fit}; }

}  // namespace trainlab::cli
