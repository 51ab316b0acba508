// Pruners against Optuna's on recorded curves (tests/golden/pruner_golden.py): the same trials end at the same report.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "embedded/golden_pruners.h"
#include "study/pruner.h"
#include "study_support.h"

namespace trainlab::pruner_parity_test {

namespace {

const Value& golden() {
  static const Value value = parse_json(embedded::golden_pruners::pruner_golden_json(), "pruner_golden.json");
  return value;
}

// After how many reports each trial is pruned, 0 where it is not. A report comes from the only repeat, every few
// validations (`every`), or where `repeats` is set the only one of a repeat of its own.
std::vector<std::int64_t> replayed(const Value& row, const Value& recorded, bool repeats) {
  const auto pruner = make_pruner(parse_entry(to_json(row["entry"])), 1);
  const bool maximize = row["maximize"].boolean();
  const double sign = maximize ? -1 : 1;
  const std::int64_t every = repeats ? 1 : row["every"].integer();
  Trials trials(0, 1);
  std::vector<std::int64_t> ends;
  for (const Value& curve : recorded.list()) {
    const std::int64_t trial = trials.add(TrialState::running, {});
    std::int64_t end = 0, count = 0;
    double sum = 0, last = 0;
    for (const Value& value : curve.list()) {
      last = sign * value.number();
      sum += last;
      ++count;
      trials.report(trial, {.repeat = repeats ? count : 1, .resource = repeats ? 1 : count * every, .values = {last}});
      if (!pruner->prunes(Curves(trials, {maximize}, INT64_MAX), trial)) continue;
      end = count;
      break;
    }
    ends.push_back(end);
    const double value = repeats ? sum / static_cast<double>(count) : last;
    trials.finish(trial, end > 0 ? TrialState::pruned : TrialState::complete, {&value, 1});
  }
  return ends;
}

std::vector<std::int64_t> expected(const Value& row) {
  std::vector<std::int64_t> ends;
  for (const Value& end : row["ends"].list()) ends.push_back(end.integer());
  return ends;
}

}  // namespace

TEST_CASE("median, percentile and ASHA give up what Optuna's do") {
  for (const Value& row : golden()["pruners"].list()) {
    INFO(to_json(row["entry"]) << ", maximize " << row["maximize"].boolean());
    CHECK(replayed(row, golden()["curves"], false) == expected(row));
  }
}

TEST_CASE("Wilcoxon's test gives up what Optuna's does") {
  for (const Value& row : golden()["wilcoxon"].list()) {
    INFO(to_json(row["entry"]) << ", maximize " << row["maximize"].boolean());
    CHECK(replayed(row, golden()["repeats"], true) == expected(row));
  }
}

TEST_CASE("Hyperband has the brackets of Optuna's, in their shares") {
  for (const Value& row : golden()["hyperband"].list()) {
    const std::int64_t min = row["min"].integer(), max = row["max"].integer(), reduction = row["reduction"].integer();
    INFO("min " << min << ", max " << max << ", reduction " << reduction);
    const auto hyperband = make_pruner(
        parse_entry(to_json(
            Value(Value::Map{{"@", "pruner.hyperband"}, {"min", min}, {"max", max}, {"reduction", reduction}}))),
        1);
    std::map<std::int64_t, std::int64_t> wanted, found;
    std::int64_t round = 0;
    for (const Value& bracket : row["brackets"].list()) {
      wanted[bracket.list()[0].integer()] = bracket.list()[1].integer();
      round += bracket.list()[1].integer();
    }
    // A trial that reports nothing but NaN ends at the first rung of its bracket. Optuna's last bracket has its one
    // rung where trials end; here its trials go on to their end.
    const auto [last, plain] = *wanted.rbegin();
    wanted.erase(last);
    std::int64_t whole = 0;
    for (std::int64_t trial = 0; trial < round; ++trial) {
      Trials trials(0, 1);
      for (std::int64_t t = 0; t <= trial; ++t) trials.add(TrialState::running, {});
      std::int64_t at = 1;
      for (; at <= max; ++at) {
        trials.report(trial, {.repeat = 1, .resource = at, .values = {std::nan("")}});
        if (hyperband->prunes(Curves(trials, {false}, INT64_MAX), trial)) break;
      }
      ++(at > max ? whole : found[at]);
    }
    CHECK(found == wanted);
    CHECK(whole == plain);
  }
}

}  // namespace trainlab::pruner_parity_test
