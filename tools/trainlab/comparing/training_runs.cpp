#include "comparing/training_runs.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.h"
#include "core/words.h"
#include "report/rows.h"
#include "report/texts.h"
#include "run/folder.h"
#include "trainings/ended_fit.h"

namespace trainlab::cli {

namespace fs = std::filesystem;
using report::shown_path, report::short_number;

namespace {

struct Read {
  compare::Training training;
  std::vector<compare::Point> validations;
};

std::vector<compare::Point> validations_of(const fs::path& folder, const std::string& metric) {
  const report::Rows rows = report::read_rows(folder);
  std::vector<compare::Point> points;
  double before = 0;
  for (const Value& row : rows.rows) {
    const double seconds = report::number_in(row, "seconds");
    if (!(seconds >= before)) throw damaged_file(folder / "metrics.jsonl", "the seconds of its rows do not grow");
    before = seconds;
    points.push_back(
        {.seconds = seconds, .value = report::number_in(row, metric), .samples = report::number_in(row, "samples")});
  }
  const bool is_known = std::ranges::find(rows.metrics, metric) != rows.metrics.end();
  if (!points.empty() && !is_known) {
    throw usage_error("the rows of " + shown_path(folder) + " have no " + metric)
        .hint("they have " + joined(rows.metrics));
  }
  return points;
}

Read read(const fs::path& folder, const compare::Target& target) {
  const auto [summary, has_failed] = ended_fit(folder);
  Read result{.training = {}, .validations = validations_of(folder, target.metric)};
  if (result.validations.empty() && !has_failed) {
    throw usage_error("there are no rows in " + shown_path(folder / "metrics.jsonl"))
        .hint("a fit leaves a row at each validation");
  }
  result.training = compare::training(result.validations, target);
  result.training.has_failed = has_failed;
  result.training.was_resumed = summary["resumed"].is_list() && !summary["resumed"].list().empty();
  if (summary["seconds"].is_number()) result.training.seconds = summary["seconds"].number();
  if (const Value& value = summary["metrics"][target.metric]; value.is_number()) {
    result.training.value = value.number();
  }
  return result;
}

std::string best_text(const std::vector<compare::Pair>& pairs, const compare::Training compare::Pair::*side,
                      const compare::Target& target) {
  double best = std::nan("");
  for (const compare::Pair& pair : pairs) {
    const double one = (pair.*side).best;
    if (std::isnan(best) || (target.minimize ? one < best : one > best)) best = one;
  }
  return std::isnan(best) ? "has no value" : "came to " + short_number(best);
}

}  // namespace

compare::Pair read_pair(std::int64_t seed, const fs::path& a, const fs::path& b, const compare::Target& target) {
  const Read of_a = read(a, target), of_b = read(b, target);
  const double both = std::min(of_a.training.seconds, of_b.training.seconds);
  return {.seed = seed,
          .a = of_a.training,
          .b = of_b.training,
          .a_at_equal_time = compare::best_within(of_a.validations, both, target.minimize),
          .b_at_equal_time = compare::best_within(of_b.validations, both, target.minimize)};
}

void check_target(const std::vector<compare::Pair>& pairs, const compare::Target& target) {
  using compare::Pair;
  if (std::ranges::none_of(pairs, [](const Pair& pair) { return pair.a.arrival || pair.b.arrival; })) {
    throw usage_error("--target: neither A nor B has reached " + target_text(target) + ": A " +
                      best_text(pairs, &Pair::a, target) + ", B " + best_text(pairs, &Pair::b, target))
        .hint("choose a target that A reaches in most of its trainings, or train longer");
  }
  if (std::ranges::all_of(pairs, [](const Pair& pair) { return pair.a.is_first && pair.b.is_first; })) {
    throw usage_error("--target: A and B have reached " + target_text(target) +
                      " at their first validation: no time can be told")
        .hint("choose a target that is harder to reach, or validate more often: validate = \"10 steps\"");
  }
}

std::string target_text(const compare::Target& target) { return target.metric + " = " + number_text(target.value); }

}  // namespace trainlab::cli
