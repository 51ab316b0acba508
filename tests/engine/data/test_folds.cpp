#include <ATen/ops/equal.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "specs.h"

namespace trainlab::folds_test {

using namespace test;

namespace {

std::string message_of(const Value& value) {
  return error_of([&] { open(value); }).message();
}

// 60 rows: x, a group of unequal size (g0 has 20, g1 … g8 have 5), a weight, a class in the share 4 : 1.
Value grouped() {
  std::string text = "x,group,weight,y\n";
  for (int i = 0; i < 60; ++i) {
    text += std::to_string(i) + ",g" + std::to_string(i < 20 ? 0 : i / 5 - 3) + "," + std::to_string(i % 4) + "," +
            (i % 5 == 0 ? "rare" : "common") + "\n";
  }
  return data("csv", {{"path", write_file("grouped.csv", text)}, {"target", "y"}, {"columns", Value::List{"x"}}});
}

std::string group_of(std::int64_t row) { return row < 20 ? "g0" : "g" + std::to_string(row / 5 - 3); }

std::set<std::string> groups_in(const Part& part) {
  std::set<std::string> all;
  for (const std::int64_t row : rows_of(part)) all.insert(group_of(row));
  return all;
}

void check_disjoint(const Part& a, const Part& b) {
  for (const std::string& group : groups_in(a)) CHECK_FALSE(groups_in(b).contains(group));
}

}  // namespace

TEST_CASE("fold: every sample validates once, and trains in all other folds") {
  for (const std::int64_t k : {2, 5, 7}) {
    std::map<std::int64_t, int> validated;
    for (std::int64_t i = 0; i < k; ++i) {
      const DataParts parts = open(method("fold", data("digits"), {{"k", k}, {"index", i}, {"seed", 3}}));
      CHECK_FALSE(parts.test);
      CHECK(std::abs(parts.val->size() - 1797 / k) <= 1);
      CHECK(parts.train.size() + parts.val->size() == 1797);
      std::set<std::int64_t> all;
      for (const std::int64_t row : rows_of(*parts.val)) {
        ++validated[row];
        all.insert(row);
      }
      for (const std::int64_t row : rows_of(parts.train)) all.insert(row);
      CHECK(all.size() == 1797);
    }
    CHECK(validated.size() == 1797);
    for (const auto& [row, times] : validated) REQUIRE(times == 1);
  }
  const auto val = [](std::int64_t seed) {
    return rows_of(*open(method("fold", data("digits"), {{"k", 5}, {"index", 1}, {"seed", seed}})).val);
  };
  CHECK(val(3) == val(3));
  CHECK(val(3) != val(4));
}

TEST_CASE("fold: stratified folds have each class as often, to a sample") {
  for (std::int64_t i = 0; i < 4; ++i) {
    const DataParts parts = open(method("fold", grouped(), {{"k", 4}, {"index", i}, {"stratify", true}}));
    CHECK(parts.val->size() == 15);
    std::int64_t rare = 0;
    for (const std::int64_t row : rows_of(*parts.val)) rare += row % 5 == 0;
    CHECK(rare == 3);
  }
}

TEST_CASE("fold and split: no group has samples in two parts") {
  std::set<std::string> validated;
  for (std::int64_t i = 0; i < 3; ++i) {
    const DataParts parts = open(method("fold", grouped(), {{"k", 3}, {"index", i}, {"groups", "group"}}));
    check_disjoint(parts.train, *parts.val);
    CHECK(parts.val->size() == 20);  // g0 alone, and four of the others twice
    for (const std::string& group : groups_in(*parts.val)) CHECK(validated.insert(group).second);
    // The column of groups is no input.
    CHECK(parts.train.data->feature_names == std::vector<std::string>{"x"});
  }
  CHECK(validated.size() == 9);

  for (std::int64_t seed = 0; seed < 10; ++seed) {
    const DataParts parts = open(method(
        "split", grouped(), {{"train", 0.5}, {"val", 0.25}, {"test", 0.25}, {"groups", "group"}, {"seed", seed}}));
    CHECK(parts.train.size() + parts.val->size() + parts.test->size() == 60);
    check_disjoint(parts.train, *parts.val);
    check_disjoint(parts.train, *parts.test);
    check_disjoint(*parts.val, *parts.test);
  }
}

TEST_CASE("fold: what is refused") {
  const auto fold = [](Value source, Value::Map options) {
    return method("fold", std::move(source), std::move(options));
  };
  CHECK(contains(message_of(fold(grouped(), {{"k", 3}, {"index", 3}})), "expected one of 0 … 2, found 3"));
  CHECK(contains(message_of(fold(grouped(), {{"k", 61}, {"index", 0}})), "expected at most 60, the number of samples"));
  CHECK(contains(message_of(fold(grouped(), {{"k", 10}, {"index", 0}, {"groups", "group"}})),
                 "at most 9, the number of groups"));
  CHECK(contains(message_of(fold(grouped(), {{"k", 3}, {"index", 0}, {"groups", "grup"}})), "no column \"grup\""));
  CHECK(contains(message_of(fold(data("digits"), {{"k", 3}, {"index", 0}, {"groups", "x"}})),
                 "column \"x\" has [1, 8, 8] in a sample"));
  CHECK(contains(message_of(fold(grouped(), {{"k", 3}, {"index", 0}, {"groups", "group"}, {"stratify", true}})),
                 "not both"));
  CHECK(contains(message_of(fold(method("split", grouped(), {{"val", 0.5}}), {{"k", 3}, {"index", 0}})),
                 "validation part already"));
  CHECK(contains(message_of(fold(method("normalize", grouped()), {{"k", 3}, {"index", 0}})), "normalised before"));
  CHECK(contains(message_of(fold(method("weighted", grouped(), {{"balanced", true}}), {{"k", 3}, {"index", 0}})),
                 "drawn with replacement before they are divided"));
}

TEST_CASE("weighted: samples come as often as their weights say, the same whatever the threads") {
  const DataParts parts =
      open(method("weighted", method("split", grouped(), {{"val", 0.2}, {"seed", 1}}), {{"column", "weight"}}));
  CHECK(parts.train.size() == 48);
  CHECK(parts.train.epoch_size() == 48);
  CHECK_FALSE(parts.val->draws);

  const std::int64_t epochs = 500;
  std::map<std::int64_t, double> counts;
  Loader one(parts.train, {.batch = 16, .threads = 1}, {Key(7)}, false),
      four(parts.train, {.batch = 16, .threads = 4}, {Key(7)}, false);
  for (std::int64_t i = 0; i < epochs * one.batches_per_epoch(); ++i) {
    const Batch batch = one.next();
    REQUIRE(at::equal(batch.index, four.next().index));
    for (std::int64_t j = 0; j < batch.size; ++j) ++counts[batch.index.const_data_ptr<std::int64_t>()[j]];
  }
  const std::vector<std::int64_t> rows = rows_of(parts.train);
  double sum = 0;
  for (const std::int64_t row : rows) sum += static_cast<double>(row % 4);
  const double draws = 48 * epochs;
  for (const std::int64_t row : rows) {
    // Five deviations of the binomial distribution.
    const double p = static_cast<double>(row % 4) / sum;
    CHECK(std::fabs(counts[row] - draws * p) <= 5 * std::sqrt(draws * p * (1 - p)));
    if (row % 4 == 0) CHECK(counts[row] == 0);
  }
}

TEST_CASE("weighted: balanced classes come alike") {
  const DataParts parts = open(method("weighted", grouped(), {{"balanced", true}}));
  Loader loader(parts.train, {.batch = 60}, {Key(1)}, false);
  double rare = 0;
  const int epochs = 400;
  for (int i = 0; i < epochs; ++i) {
    const Batch batch = loader.next();
    for (std::int64_t j = 0; j < batch.size; ++j) rare += batch.index.const_data_ptr<std::int64_t>()[j] % 5 == 0;
  }
  const double draws = 60.0 * epochs;
  CHECK(std::fabs(rare - draws / 2) <= 5 * std::sqrt(draws / 4));
}

TEST_CASE("weighted: what is refused") {
  const auto with = [](const std::string& weights) {
    const std::string path = write_file("weights.csv", "x,w,y\n1," + weights.substr(0, weights.find(' ')) + ",0\n2," +
                                                           weights.substr(weights.find(' ') + 1) + ",1\n");
    return message_of(method("weighted", data("csv", {{"path", path}, {"target", "y"}}), {{"column", "w"}}));
  };
  CHECK(contains(with("1 -2"), "expected weights of at least 0, found -2"));
  CHECK(contains(with("0 0"), "the weights add up to 0"));
  CHECK(contains(with("1 NA"), "has no value in sample 2"));
  CHECK(contains(message_of(method("weighted", grouped())), "expected a column of weights, or balanced = true"));
  CHECK(contains(message_of(method("weighted", data("sine"), {{"balanced", true}})), "has no classes"));
}

}  // namespace trainlab::folds_test
