// `trainlab plan seeds`: how much the metric that a recipe monitors differs from one seed to another, and how many
// seeds a comparison with another recipe needs. Each training is an ordinary run, runs/plan/NAME/NNN/seed-001, and so
// on, so that `trainlab compare` can use it again.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/ending.h"
#include "cli/requests.h"
#include "compare/spread.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/words.h"
#include "planning/topic.h"
#include "report/texts.h"
#include "trainings/ended_fit.h"
#include "trainings/ended_trainings.h"
#include "trainings/facts.h"
#include "trainings/seeded_runs.h"

namespace trainlab::cli {

namespace fs = std::filesystem;
using report::duration_text, report::fine_duration_text, report::shown_path, report::short_number;

namespace {

constexpr std::size_t fewest = 2;    // values that have a spread
constexpr int usual = 5, most = 20;  // seeds that are trained without --within, and at most with it
constexpr int most_needed = 1000;
constexpr std::array rows = {3, 5, 8, 12, 20, 30};  // seeds of the table

// Trainings of a recipe that differ in the seed alone.
struct SeededTrainings {
  std::string shown = {};  // the recipe, or the folder of runs
  std::string metric = {};
  std::vector<std::int64_t> seeds = {};  // of the trainings that have a value
  std::vector<double> values = {};
  int failed = 0;  // trainings that a loss which is not finite has ended
  // All trainings: those made for the plan with the starts of their processes, runs that existed before without.
  double seconds = 0;
  fs::path folder = {};  // of the runs that were trained for the plan; empty for runs that existed before

  int count() const { return static_cast<int>(values.size()) + failed; }
};

bool is_recipe(const std::string& word) { return word.ends_with(".lua"); }

// The full name of the metric that an ended fit has monitored.
std::string monitored_in(const Value& summary, const fs::path& folder) {
  if (const Value& metric = summary["best"]["metric"]; metric.is_string()) return metric.string();
  throw usage_error("the metric that the run in " + shown_path(folder) + " monitors never was a number");
}

// `ended`: the fit in the folder.
void add(SeededTrainings& trainings, std::int64_t seed, const fs::path& folder, const EndedFit& ended) {
  const auto& [summary, has_failed] = ended;
  if (has_failed) {
    ++trainings.failed;
    return;
  }
  if (trainings.metric.empty()) trainings.metric = monitored_in(summary, folder);
  const Value& value = summary["metrics"][trainings.metric];
  if (!value.is_number()) {
    std::vector<std::string> names;
    for (const auto& [name, one] : summary["metrics"].map()) {
      if (one.is_number()) names.push_back(name);
    }
    throw usage_error("the run in " + shown_path(folder) + " has no " + trainings.metric +
                      ", the metric that it monitors")
        .hint(names.empty() ? "no metric of the run is a number" : "the run has " + joined(names));
  }
  trainings.seeds.push_back(seed);
  trainings.values.push_back(value.number());
}

// The seconds of a whole training, by the steps of the one in this folder, which the end of the time has stopped; 0
// where it has none. `length`: as an engine tells it (trainings/facts.h).
double seconds_by_steps_of(const fs::path& folder, const Value& length) {
  const Value summary = read_summary(folder);
  const Value &done = summary["steps"], &seconds = summary["seconds"];
  if (!done.is_number() || !seconds.is_number() || done.number() == 0 || length["steps"].number() == 0) return 0;
  const double whole = seconds.number() / done.number() * length["steps"].number();
  return length["time"].number() > 0 ? std::min(whole, length["time"].number()) : whole;
}

// `seconds`: of a training, 0 where nobody knows; `is_most`: it may end before its length.
Error too_little_time(double seconds, bool is_most) {
  return usage_error("--within: two seeds do not fit; " +
                     (seconds > 0 ? std::string("a training takes ") + (is_most ? "up to about " : "about ") +
                                        fine_duration_text(seconds)
                                  : std::string("the time was over before the first training")))
      .hint("more time, or a shorter training: --set epochs=N");
}

// Adds the training of a seed that has ended, and says how it went. `waited`: the seconds that this command has waited
// for it. Returns its seconds, with the start of the process that has trained it, if this was the command's.
double take(const Arguments& given, SeededTrainings& trainings, int seed, int count, const fs::path& folder,
            double waited) {
  const EndedFit ended = ended_fit(folder);
  const double seconds = std::max(waited, ended.summary["seconds"].number());
  trainings.seconds += seconds;
  const int failed = trainings.failed;
  add(trainings, seed, folder, ended);
  say(given,
      fmt::format("seed {} of at most {}: ", seed, count) +
          (trainings.failed > failed ? "failed" : trainings.metric + " " + short_number(trainings.values.back())) +
          ", " + duration_text(seconds));
  return seconds;
}

// Trains seeds 1, 2, …: a usual number, or those that end before `until`, by steady_seconds(). A training that cannot
// end in time is not begun, or is stopped; the same command goes on with it. `length`: how long a training takes, as an
// engine tells it (trainings/facts.h). Returns the outcome of a training that has no result.
std::optional<Outcome> train(const Arguments& given, const Arguments& plain, std::optional<double> until,
                             const Value& length, SeededTrainings& trainings) {
  const int count = until ? most : usual;
  const bool may_end_early = length["may_end_early"] == Value(true);
  double expected = until ? length["seconds"].number() : 0, longest = 0;
  for (int seed = 1; seed <= count; ++seed) {
    const double now = steady_seconds();
    const fs::path folder = trainings.folder / fmt::format("seed-{:03}", seed);
    const double least = longest > 0 ? longest : may_end_early ? 0 : expected;
    if (until && !has_result(folder) && now + least > *until) break;
    const Request request = request_for_recipe(plain);
    // Until there are enough seeds, each has an equal part of the time: the next one will take as long as this one.
    const int needed = std::max(static_cast<int>(fewest) - trainings.count(), 1);
    const std::optional<double> end = until ? std::optional(now + (*until - now) / needed) : std::nullopt;
    if (std::optional<Outcome> outcome = train_with_seed(request, folder, seed, end)) {
      if (!has_run_out_of_time(*outcome)) return outcome;
      if (const double seconds = seconds_by_steps_of(folder, length); seconds > 0) expected = seconds;
      say(given, fmt::format("seed {} does not end in time, and does not count", seed));
      break;
    }
    check_same_sources(request.recipe, trainings.folder / "seed-001", folder);
    longest = std::max(longest, take(given, trainings, seed, count, folder, steady_seconds() - now));
  }
  if (trainings.count() >= static_cast<int>(fewest)) return std::nullopt;
  throw longest > 0 ? too_little_time(longest, false) : too_little_time(expected, may_end_early);
}

SeededTrainings ended(const Arguments& given) {
  const EndedTrainings runs = ended_trainings(given.words);
  SeededTrainings trainings{.shown = given.words.size() == 1 ? shown_path(absolute_path(given.words.front()))
                                                             : std::to_string(given.words.size()) + " folders of runs"};
  for (const auto& [seed, folder] : runs.by_seed) {
    const EndedFit one = ended_fit(folder);
    add(trainings, seed, folder, one);
    if (one.summary["seconds"].is_number()) trainings.seconds += one.summary["seconds"].number();
  }
  return trainings;
}

void check_enough(const SeededTrainings& trainings) {
  if (trainings.values.size() >= fewest) return;
  if (trainings.failed > 0) {
    throw run_error(
        fmt::format("{} of {} trainings failed, by a loss that is not finite; the spread over seeds needs at "
                    "least two results",
                    trainings.failed, trainings.count()))
        .hint("the recipe diverges: a lower learning rate, or trainlab find lr RECIPE.lua");
  }
  throw usage_error("expected at least 2 seeds, found " + std::to_string(trainings.values.size()))
      .hint("one training says nothing of the others; trainlab plan seeds RECIPE.lua trains some");
}

// The seeds of each recipe that a comparison needs to detect a difference, by the deviation and by both ends of its
// interval. Unknown where all values are equal.
struct Needed {
  int seeds = 0, low = 0, high = 0;
};

std::optional<Needed> needed_for(double difference, const compare::Spread& spread) {
  if (spread.deviation == 0) return std::nullopt;
  const auto seeds = [&](double deviation) { return compare::pairs_for(difference / deviation, most_needed); };
  return Needed{seeds(spread.deviation), seeds(spread.low), seeds(spread.high)};
}

// Says whether the seconds of the trainings hold the starts of their processes.
const char* with_starts(const SeededTrainings& trainings) {
  return trainings.folder.empty() ? " without their starts" : " with their starts";
}

double seconds_for(const Needed& needed, const SeededTrainings& trainings) {
  return 2 * needed.seeds * trainings.seconds / trainings.count();
}

std::string needed_text(double difference, const Needed& needed, const SeededTrainings& trainings) {
  const auto count = [](int seeds) { return seeds < most_needed ? std::to_string(seeds) : "more than 1000"; };
  std::string text =
      "  a difference of " + number_text(difference) + " takes " + count(needed.seeds) + " seeds of each recipe";
  if (needed.low < most_needed) text += " (" + count(needed.low) + " to " + count(needed.high) + ")";
  if (needed.seeds < most_needed) text += ", " + duration_text(seconds_for(needed, trainings)) + with_starts(trainings);
  return text + "\n";
}

std::string text_of(const SeededTrainings& trainings, const compare::Spread& spread, std::optional<double> difference) {
  std::string text = trainings.metric + " of " + trainings.shown + ": " + short_number(spread.mean) +
                     " on average over " + std::to_string(spread.seeds) + " seeds\n";
  std::string values;
  for (const double value : trainings.values) values += " " + short_number(value);
  text += "  values  " + values + "\n";
  if (trainings.failed > 0) {
    text += fmt::format("  failed   {} of {} trainings, by a loss that is not finite; they do not count below\n",
                        trainings.failed, trainings.count());
  }
  if (spread.deviation == 0) {
    text += "  spread   unknown: all values are equal; the metric is too coarse, or the seed changes nothing\n";
  } else {
    text += fmt::format("  spread   standard deviation {:.3g}, between {:.3g} and {:.3g} with 95 %\n\n",
                        spread.deviation, spread.low, spread.high);
    text += "  seeds   the mean is known to   a difference is detected from\n";
    for (const int seeds : rows) {
      text +=
          fmt::format("  {:>5}   ± {:<18.3g}   {:.3g}\n", seeds, spread.deviation * compare::half_width_of_mean(seeds),
                      spread.deviation * compare::difference_detected(seeds));
    }
    text += "\n";
    if (difference) text += needed_text(*difference, *needed_for(*difference, spread), trainings);
    text += "  fewer seeds are enough where both recipes profit from the same seeds; trainlab compare uses this\n";
  }
  text += fmt::format("  took     {} trainings, {} each{}\n", trainings.count(),
                      duration_text(trainings.seconds / trainings.count()), with_starts(trainings));
  return trainings.folder.empty() ? text : text + "  in       " + shown_path(trainings.folder) + "\n";
}

Value value_of(const SeededTrainings& trainings, const compare::Spread& spread, std::optional<double> difference) {
  Value::List by_seeds;
  for (const int seeds : rows) {
    by_seeds.push_back(Value::Map{{"seeds", seeds},
                                  {"half_width", spread.deviation * compare::half_width_of_mean(seeds)},
                                  {"difference", spread.deviation * compare::difference_detected(seeds)}});
  }
  Value needed;
  if (const auto found = difference ? needed_for(*difference, spread) : std::nullopt) {
    needed = Value::Map{{"difference", *difference},
                        {"seeds", found->seeds},
                        {"low", found->low},
                        {"high", found->high},
                        {"seconds", seconds_for(*found, trainings)}};
  }
  return Value::Map{
      {"kind", "plan_seeds"},
      {"metric", trainings.metric},
      {"seeds", Value::List(trainings.seeds.begin(), trainings.seeds.end())},
      {"values", Value::List(trainings.values.begin(), trainings.values.end())},
      {"failed", trainings.failed},
      {"mean", spread.mean},
      {"deviation", Value::Map{{"value", spread.deviation}, {"low", spread.low}, {"high", spread.high}}},
      {"by_seeds", spread.deviation == 0 ? Value(Value::List()) : Value(std::move(by_seeds))},
      {"needed", std::move(needed)},
      {"seconds", trainings.seconds},
      {"out", trainings.folder.empty() ? Value() : Value(trainings.folder.string())},
  };
}

void check_seeds(const Arguments& given) {
  if (given.words.empty())
    throw usage_error("`trainlab plan seeds` needs a recipe, or folders of runs that have ended");
  if (std::ranges::any_of(given.words, is_recipe)) {
    if (given.words.size() > 1) throw usage_error("`trainlab plan seeds` takes one recipe, or folders of runs");
    return;
  }
  for (const char* flag : {"within", "params", "set"}) {
    if (given.has(flag)) throw usage_error(std::string("--") + flag + " means nothing to runs that have ended");
  }
}

int plan_seeds(const Arguments& given) {
  const bool json = given.has("json");
  SeededTrainings trainings;
  if (is_recipe(given.words.front())) {
    const double begun = steady_seconds();
    Arguments plain = given;
    for (const char* flag : {"within", "difference", "html"}) plain.flags.map().erase(flag);
    const std::optional<double> until =
        given.has("within") ? std::optional(begun + given.flags["within"].number()) : std::nullopt;
    const EngineAnswer answer = ask_about(request_for_recipe(plain), "", until);
    if (answer.facts.is_nil()) return tell(answer.outcome, json, "plan_seeds");
    const fs::path recipe = given.words.front();
    trainings.shown = shown_path(recipe);
    trainings.metric = answer.facts["metric"].string();
    const Value asked = Value::Map{{"topic", "seeds"},
                                   {"training", asked_by(request_for_recipe(plain))},
                                   {"data", data_of(answer.facts, trainings.metric)}};
    trainings.folder = folder_for(given, fs::current_path() / "runs" / "plan" / recipe.stem(), asked);
    if (const auto outcome = train(given, plain, until, answer.facts, trainings))
      return tell_broken_off(*outcome, given, "plan_seeds", trainings.folder);
    mark_ended(trainings.folder);
  } else {
    trainings = ended(given);
  }
  check_enough(trainings);
  const compare::Spread spread = compare::spread_of(trainings.values);
  const std::optional<double> difference =
      given.has("difference") ? std::optional(given.flags["difference"].number()) : std::nullopt;
  const Value value = value_of(trainings, spread, difference);
  const auto failure = page_failure(given, [&] {
    Value page = value;
    page.set("of", trainings.shown);
    return report::seeds_page(page);
  });
  print(json ? to_json(value, 2) + "\n" : text_of(trainings, spread, difference));
  return end_with(failure);
}

}  // namespace

PlanTopic seeds_topic() {
  return {.word = "seeds",
          .flags = {"difference", "within", "params", "set", "html"},
          .uses_engine = true,
          .is_recipe = is_recipe,
          .check = check_seeds,
          .run = plan_seeds};
}

}  // namespace trainlab::cli
