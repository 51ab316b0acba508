// The metrics of a fit by their full names: which there are, and which way is better.
#include <algorithm>

#include "core/words.h"
#include "train/fit_plan.h"

namespace trainlab {

void FitPlan::check_metric(const std::string& full_name) const {
  if (step && full_name.starts_with("train.")) return;  // what the step returns is known when it has run
  if (full_name.starts_with("val.") && !data.val && measures()) {
    throw recipe_error("\"" + full_name + "\" needs a validation part, and the data has none")
        .hint("data:split { train = 0.9, val = 0.1 }");
  }
  if (full_name.starts_with("test.") && !data.test && measures()) {
    throw recipe_error("\"" + full_name + "\" needs a test part, and the data has none")
        .hint("data:split { train = 0.8, val = 0.1, test = 0.1 }");
  }
  std::vector<std::string> known = metric_names();
  if (data.test) add_metrics_of("test", known);
  if (std::find(known.begin(), known.end(), full_name) == known.end()) {
    Error error = recipe_error("there is no metric \"" + full_name + "\"");
    const std::string near = Registry::closest(full_name, known);
    throw error.hint(near.empty() ? "this fit has " + joined(known) : "did you mean \"" + near + "\"?");
  }
}

void FitPlan::check_watched(const std::string& full_name) const {
  if (full_name.starts_with("test.") && measures()) {
    throw recipe_error("\"" + full_name + "\" is measured once, at the end, and cannot be watched")
        .hint("watch \"val" + full_name.substr(4) + "\"");
  }
  check_metric(full_name);
}

bool FitPlan::minimize(const std::string& full_name) const {
  check_metric(full_name);
  if (step && full_name.starts_with("train.")) {
    return full_name != monitor || !options.given("goal") || options.string("goal") == "min";
  }
  const std::string name = full_name.substr(full_name.find('.') + 1);
  for (const PlannedMetric& metric : metrics) {
    if (metric.name != name) continue;
    if (metric.minimize) return *metric.minimize;
    if (full_name == monitor && options.given("goal")) return options.string("goal") == "min";
    throw recipe_error("the metric declares no better direction: \"" + full_name + "\"")
        .hint("goal = \"min\" or \"max\" in the metric's table");
  }
  return true;  // losses
}

std::optional<double> FitPlan::best_possible(const std::string& full_name) const {
  if (step && full_name.starts_with("train.")) return std::nullopt;  // whatever the step returns
  const std::string name = full_name.substr(full_name.find('.') + 1);
  const LossKind* const kind = loss_kind();
  if (name == "loss" && kind && kind->is_never_negative) return 0;
  const auto found = std::ranges::find(metrics, name, &PlannedMetric::name);
  if (found != metrics.end() && found->at_most_one) return 1;
  return std::nullopt;
}

std::vector<std::string> FitPlan::metric_names() const {
  std::vector<std::string> names{"train.loss"};
  if (!loss) return names;
  for (const LossPart& part : loss->parts()) names.push_back("train.loss." + part.name);
  if (data.val) add_metrics_of("val", names);
  return names;
}

void FitPlan::add_metrics_of(const std::string& part, std::vector<std::string>& names) const {
  if (!loss) return;
  names.push_back(part + ".loss");
  for (const LossPart& one : loss->parts()) names.push_back(part + ".loss." + one.name);
  for (const PlannedMetric& metric : metrics) {
    if (metric.is_number) names.push_back(part + "." + metric.name);
  }
}

}  // namespace trainlab
