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
  Value summary;
  bool has_failed;
  std::vector<compare::Point> validations;
  std::vector<compare::Point> monitored;  // the same, with the metric by which the training chooses its best weights
};

// A point for each row; its value is NaN where the row does not have the metric.
std::vector<compare::Point> points_of(const report::Rows& rows, const std::string& metric, const fs::path& folder) {
  std::vector<compare::Point> points;
  double before = 0;
  for (const Value& row : rows.rows) {
    const double seconds = report::number_in(row, "seconds");
    if (!(seconds >= before)) throw damaged_file(folder / "metrics.jsonl", "the seconds of its rows do not grow");
    before = seconds;
    points.push_back(
        {.seconds = seconds, .value = report::number_in(row, metric), .samples = report::number_in(row, "samples")});
  }
  return points;
}

Read read(const fs::path& folder, const compare::Target& target) {
  auto [summary, has_failed] = ended_fit(folder);
  const report::Rows rows = report::read_rows(folder);
  const bool is_known = std::ranges::find(rows.metrics, target.metric) != rows.metrics.end();
  if (!rows.rows.empty() && !is_known) {
    throw usage_error("the rows of " + shown_path(folder) + " have no " + target.metric)
        .hint("they have " + joined(rows.metrics));
  }
  if (rows.rows.empty() && !has_failed) {
    throw usage_error("there are no rows in " + shown_path(folder / "metrics.jsonl"))
        .hint("a fit leaves a row at each validation");
  }
  const Value monitor = summary["best"]["metric"];
  return {.summary = std::move(summary),
          .has_failed = has_failed,
          .validations = points_of(rows, target.metric, folder),
          .monitored = monitor.is_string() ? points_of(rows, monitor.string(), folder) : std::vector<compare::Point>()};
}

// The place of the best of some values, the first of several; nullopt where all are NaN.
std::optional<std::size_t> place_of_best(const std::vector<compare::Point>& points, bool minimize) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double value = points[i].value;
    if (std::isnan(value)) continue;
    if (!best || (minimize ? value < points[*best].value : value > points[*best].value)) best = i;
  }
  return best;
}

// Whether less is better of the metric by which a training chooses its best weights: the value of these is the least of
// all, or the greatest. nullopt where it is neither.
std::optional<bool> chooses_least(const Read& read) {
  const Value& chosen = read.summary["best"]["value"];
  if (!chosen.is_number()) return std::nullopt;
  for (const bool minimize : {true, false}) {
    const std::optional<std::size_t> best = place_of_best(read.monitored, minimize);
    if (best && read.monitored[*best].value == chosen.number()) return minimize;
  }
  return std::nullopt;
}

// The value that the training delivers, by those of its validations that count: of more values the best is better, also
// if it is so by noise alone. nullopt where it is not known.
std::optional<double> delivered(const Read& read, double apart_in_other, const compare::Target& target) {
  const Value& value = read.summary["metrics"][target.metric];
  if (!value.is_number()) return std::nullopt;
  const std::vector<compare::Point> counted = compare::counted(read.validations, apart_in_other);
  // The last weights count in any case.
  if (counted.size() == read.validations.size() || value.number() == read.validations.back().value) {
    return value.number();
  }
  // The training would have chosen the best of the weights that count, by its own metric.
  const std::optional<bool> minimize = chooses_least(read);
  if (!minimize) return std::nullopt;
  const auto best = place_of_best(compare::counted(read.monitored, apart_in_other), *minimize);
  if (!best || std::isnan(counted[*best].value)) return std::nullopt;
  return counted[*best].value;
}

// The training by those of its validations that count beside another, whose validations are so far apart.
compare::Training training_of(const Read& read, double apart_in_other, const compare::Target& target) {
  compare::Training training = compare::training(compare::counted(read.validations, apart_in_other), target);
  training.apart = compare::samples_apart(read.validations);
  const Value& summary = read.summary;
  training.was_resumed = summary["resumed"].is_list() && !summary["resumed"].list().empty();
  if (summary["seconds"].is_number()) training.seconds = summary["seconds"].number();
  if (summary["flops"].is_number()) training.flops = summary["flops"].number();
  training.value = delivered(read, apart_in_other, target);
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
  const double apart_in_a = compare::samples_apart(read_a.validations);
  const double apart_in_b = compare::samples_apart(read_b.validations);
  compare::Pair pair{
      .seed = seed, .a = training_of(read_a, apart_in_b, target), .b = training_of(read_b, apart_in_a, target)};
  // A training that has failed has values from before its failure alone.
  if (pair.a.has_failed || pair.b.has_failed) return pair;
  const double both = std::min(pair.a.seconds, pair.b.seconds);
  const auto best = [&](const Read& read, double apart_in_other) {
    return compare::best_within(compare::counted(read.validations, apart_in_other), both, target.minimize);
  };
  pair.a_at_equal_time = best(read_a, apart_in_b);
  pair.b_at_equal_time = best(read_b, apart_in_a);
  return pair;
}

std::optional<Error> useless_target(const std::vector<compare::Pair>& pairs, const compare::Target& target) {
  using compare::Pair;
  if (std::ranges::none_of(pairs, [](const Pair& pair) { return pair.a.arrival || pair.b.arrival; })) {
    return usage_error("--target: neither A nor B has reached " + target_text(target) + ": A " +
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
    return untold("trainings have reached it at their first validation, after about " +
                  report::fine_duration_text(*window.begin) + ", and none was seen to need longer")
        .hint("choose a target that is harder to reach, or validate more often: validate = \"10 steps\"");
  }
  if (all_count_with(window.end)) {
    return untold("trainings end after about " + report::fine_duration_text(*window.end) +
                  " without having reached it, and all others reach it later")
        .hint("train both longer, and equally long, or choose a target that is easier to reach");
  }
  return std::nullopt;
}

bool ends_if_useless(std::size_t pairs, const compare::Looks& looks) {
  return pairs == 3 || looks.is_look(static_cast<int>(pairs));
}

std::string target_text(const compare::Target& target) { return target.metric + " = " + number_text(target.value); }

}  // namespace trainlab::cli
