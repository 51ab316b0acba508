#include "comparing/training_runs.h"

#include <algorithm>
#include <cmath>
#include <limits>
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
  Value summary;
  bool has_failed;
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
  auto [summary, has_failed] = ended_fit(folder);
  Read result{
      .summary = std::move(summary), .has_failed = has_failed, .validations = validations_of(folder, target.metric)};
  if (result.validations.empty() && !has_failed) {
    throw usage_error("there are no rows in " + shown_path(folder / "metrics.jsonl"))
        .hint("a fit leaves a row at each validation");
  }
  return result;
}

// The value that the training delivers, by those of its validations that count: of more values the best is better, also
// if it is so by noise alone. nullopt where it is not known: the training keeps the best weights by another metric, and
// which of the counted ones these would be is not known.
std::optional<double> delivered(const Read& read, const std::vector<compare::Point>& counted,
                                const compare::Target& target) {
  const Value& value = read.summary["metrics"][target.metric];
  if (!value.is_number()) return std::nullopt;
  // The last weights count in any case.
  if (counted.size() == read.validations.size() || value.number() == read.validations.back().value) {
    return value.number();
  }
  if (read.summary["best"]["metric"] != Value(target.metric)) return std::nullopt;
  return compare::best_within(counted, std::numeric_limits<double>::infinity(), target.minimize);
}

// The training by those of its validations that count.
compare::Training training_of(const Read& read, const std::vector<compare::Point>& counted,
                              const compare::Target& target) {
  compare::Training training = compare::training(counted, target);
  training.apart = compare::samples_apart(read.validations);
  const Value& summary = read.summary;
  training.was_resumed = summary["resumed"].is_list() && !summary["resumed"].list().empty();
  if (summary["seconds"].is_number()) training.seconds = summary["seconds"].number();
  training.value = delivered(read, counted, target);
  if (read.has_failed) training.fail();
  return training;
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
  const Read read_a = read(a, target), read_b = read(b, target);
  const std::vector<compare::Point> of_a =
      compare::counted(read_a.validations, compare::samples_apart(read_b.validations));
  const std::vector<compare::Point> of_b =
      compare::counted(read_b.validations, compare::samples_apart(read_a.validations));
  compare::Pair pair{.seed = seed, .a = training_of(read_a, of_a, target), .b = training_of(read_b, of_b, target)};
  // A training that has failed has values from before its failure alone.
  if (pair.a.has_failed || pair.b.has_failed) return pair;
  const double both = std::min(pair.a.seconds, pair.b.seconds);
  pair.a_at_equal_time = compare::best_within(of_a, both, target.minimize);
  pair.b_at_equal_time = compare::best_within(of_b, both, target.minimize);
  return pair;
}

void check_target(const std::vector<compare::Pair>& pairs, const compare::Target& target) {
  using compare::Pair;
  if (std::ranges::none_of(pairs, [](const Pair& pair) { return pair.a.arrival || pair.b.arrival; })) {
    throw usage_error("--target: neither A nor B has reached " + target_text(target) + ": A " +
                      best_text(pairs, &Pair::a, target) + ", B " + best_text(pairs, &Pair::b, target))
        .hint("choose a target that A reaches in most of its trainings, or train longer");
  }
  const compare::Window window = compare::common_window(pairs);
  const auto all_count_with = [&](const std::optional<double>& bound) {
    return bound && std::ranges::all_of(pairs, [&](const Pair& pair) {
             return compare::bound_of(pair.a, window) == bound && compare::bound_of(pair.b, window) == bound;
           });
  };
  const auto untold = [&](const std::string& why) {
    return usage_error("--target: no time to " + target_text(target) + " can be told: " + why);
  };
  if (all_count_with(window.begin)) {
    throw untold("trainings have reached it at their first validation, after about " +
                 report::fine_duration_text(*window.begin) + ", and none was seen to need longer")
        .hint("choose a target that is harder to reach, or validate more often: validate = \"10 steps\"");
  }
  if (all_count_with(window.end)) {
    throw untold("trainings end after about " + report::fine_duration_text(*window.end) +
                 " without having reached it, and all others reach it later")
        .hint("train both longer, and equally long, or choose a target that is easier to reach");
  }
}

std::string target_text(const compare::Target& target) { return target.metric + " = " + number_text(target.value); }

}  // namespace trainlab::cli
