// The figures of health: the curve of the loss, rows that become sparser, and the way into a checkpoint and back.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "health/figures.h"

namespace trainlab::figures_test {

TEST_CASE("a loss curve keeps the means of a long run in few blocks") {
  LossCurve curve;
  constexpr int steps = 10'000;
  for (int i = 0; i < steps; ++i) curve.add(i);
  CHECK(curve.steps() == steps);
  CHECK(curve.blocks().size() <= LossCurve::most_blocks);
  CHECK(curve.first() == 0);
  CHECK(curve.mean(0, 1) == Approx(0.5 * (steps - 1)));
  CHECK(curve.mean(0.9, 1) == Approx(0.95 * steps).epsilon(0.01));
  CHECK(curve.mean(0, 0.1) == Approx(0.05 * steps).epsilon(0.06));
  double counted = 0;
  for (const LossBlock& block : curve.blocks()) counted += static_cast<double>(block.steps);
  CHECK(counted == steps);
}

TEST_CASE("the start of a loss curve is the mean of its first steps") {
  LossCurve curve;
  CHECK(std::isnan(curve.start(1)));
  for (int i = 0; i < 10; ++i) curve.add(i);
  CHECK(curve.start(1) == 0);
  CHECK(curve.start(4) == Approx(1.5));
  CHECK(curve.start(10) == Approx(4.5));
  CHECK(std::isnan(curve.start(11)));
  for (int i = 10; i < 1000; ++i) curve.add(i);
  CHECK(curve.start(1) == 0);
  CHECK(curve.start(16) == Approx(7.5).margin(4));
}

TEST_CASE("the worst of a loss curve is a mean of five steps, and no single spike") {
  LossCurve curve;
  for (int i = 0; i < 100; ++i) curve.add(i == 50 ? 101 : 1);
  CHECK(curve.worst() == Approx(21));
  curve.add(std::nan(""));
  curve.add(std::numeric_limits<double>::infinity());
  CHECK(curve.steps() == 100);
}

namespace {

// Each with the losses of the 20 steps before it.
void add_evaluations(HealthFigures& figures, int from, int to) {
  for (int i = from; i < to; ++i) {
    for (int step = 20 * i; step < 20 * (i + 1); ++step) figures.losses.add(2.0 / (1 + step));
    figures.add(MeasuredEvaluation{.step = 20.0 * (i + 1)});
  }
}

// Whether all rows but the latest are equally many steps apart.
bool is_even(const std::vector<MeasuredEvaluation>& rows) {
  if (rows.size() < 3) return false;
  const auto gap = [&](std::size_t i) { return rows[i].step - rows[i - 1].step; };
  for (std::size_t i = 2; i + 1 < rows.size(); ++i) {
    if (gap(i) != gap(1)) return false;
  }
  const double last = gap(rows.size() - 1);
  return last > 0 && last <= gap(1);
}

}  // namespace

TEST_CASE("evaluations become sparser alike, and the first and the latest stay") {
  HealthFigures figures;
  for (int i = 0; i < 5'000; ++i) {
    add_evaluations(figures, i, i + 1);
    CHECK(figures.evaluations.front().step == 20);
    CHECK(figures.evaluations.back().step == 20 * (i + 1));
    if (i < 2) continue;
    CHECK(is_even(figures.evaluations));
    CHECK(figures.evaluations.size() >= std::min<std::size_t>(static_cast<std::size_t>(i) + 1, 257));
    CHECK(figures.evaluations.size() <= HealthFigures::most_rows);
  }
}

TEST_CASE("evaluations that are not on the grid of the others, and missing ones, cost no others") {
  const auto steps_of = [](std::vector<int> steps) {
    HealthFigures figures;
    for (const int step : steps) figures.add(MeasuredEvaluation{.step = static_cast<double>(step)});
    std::vector<int> kept;
    for (const MeasuredEvaluation& row : figures.evaluations) kept.push_back(static_cast<int>(row.step));
    CHECK(kept == steps);
    return kept.size();
  };
  const auto grid = [](std::vector<int> steps, int from, int to, int gap) {
    for (int step = from; step <= to; step += gap) steps.push_back(step);
    return steps;
  };
  CHECK(steps_of(grid({137}, 500, 50'000, 500)) == 101);                // a budget ended the first attempt
  CHECK(steps_of(grid({1}, 100, 20'000, 100)) == 201);                  // a loop that validates before it trains
  CHECK(steps_of(grid(grid({}, 10, 300, 10), 810, 2'000, 10)) == 150);  // fifty are missing
  const std::vector<int> ended = grid(grid({}, 10, 1'000, 10), 1'003, 1'003, 1);
  CHECK(steps_of(ended) == 101);
  CHECK(steps_of(grid(ended, 1'010, 2'000, 10)) == 201);                      // the run goes on
  CHECK(steps_of(grid(grid({}, 10, 1'000, 10), 1'100, 10'000, 100)) == 190);  // they become rarer
}

TEST_CASE("of many evaluations those that are kept have equally many others between them, be their steps uneven") {
  HealthFigures figures;
  figures.add(MeasuredEvaluation{.step = 137});
  for (int number = 1; number <= 3'000; ++number) {
    const int missing = number > 700 ? 50 : 0;
    figures.add(MeasuredEvaluation{.step = 500.0 * (number + missing)});
  }
  const std::vector<MeasuredEvaluation>& rows = figures.evaluations;
  REQUIRE(rows.size() == 376);  // each eighth of 3,001: the numbers from 0 to 3,000
  CHECK(rows.front().step == 137);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const int number = 8 * static_cast<int>(i);
    CHECK(rows[i].step == 500.0 * (number + (number > 700 ? 50 : 0)));
  }
}

TEST_CASE("measured steps become sparser alike once they are many") {
  HealthFigures figures;
  const auto add = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t step = from; step < to; ++step) {
      const bool is_power = (step & (step - 1)) == 0;
      if (is_power || step % 500 == 0) figures.add(MeasuredStep{.step = static_cast<double>(step)});
    }
  };
  add(0, 10'000);
  CHECK(figures.measured.size() == 34);  // 0, fourteen powers of two, and nineteen others
  add(10'000, 700'000);
  add(701'000, 2'000'000);  // where a run was interrupted, a row is missing
  CHECK(figures.measured.size() <= HealthFigures::most_rows);
  CHECK(figures.measured.size() >= 250);
  CHECK(figures.measured.front().step == 0);
  CHECK(figures.measured.back().step == 1'999'500);
  int first_half = 0;
  for (const MeasuredStep& row : figures.measured) first_half += row.step < 1'000'000;
  CHECK(first_half == Approx(0.5 * static_cast<double>(figures.measured.size())).epsilon(0.02));
}

TEST_CASE("evaluations that go on from a checkpoint are those of a run without an interruption") {
  HealthFigures whole;
  add_evaluations(whole, 0, 3'000);
  for (const int cut : {100, 511, 512, 513, 514, 1'025, 2'999}) {
    HealthFigures before, after;
    add_evaluations(before, 0, cut);
    restore(after, parse_json(to_json(to_value(before)), "test"));
    add_evaluations(after, cut, 3'000);
    CHECK(to_json(to_value(after)) == to_json(to_value(whole)));
  }
}

TEST_CASE("many evaluations of an earlier version, which left out more of the oldest, are judged from here on") {
  for (const int before : {200, 1'000}) {
    HealthFigures stored;
    for (int i = 0; i < 20 * before; ++i) stored.losses.add(2.0 / (1 + i));
    for (int i = 0; i < before; ++i) {
      std::vector<MeasuredEvaluation> kept;
      const std::vector<MeasuredEvaluation>& rows = stored.evaluations;
      for (std::size_t k = 0; k < rows.size(); ++k) {
        if (rows.size() < 512 || k % 2 == 0 || k >= rows.size() / 2) kept.push_back(rows[k]);
      }
      kept.push_back({.step = 20.0 * (i + 1)});
      stored.evaluations = std::move(kept);
    }
    Value earlier = to_value(stored);
    earlier.set("evaluated", Value());
    HealthFigures figures;
    restore(figures, parse_json(to_json(earlier), "test"));
    add_evaluations(figures, before, before + 500);
    CHECK(figures.evaluations.front().step == (before == 200 ? 20 : 20 * (before + 1)));
    CHECK(figures.evaluations.back().step == 20 * (before + 500));
    CHECK(is_even(figures.evaluations));
  }
}

TEST_CASE("figures come back from a checkpoint as they were") {
  HealthFigures figures;
  for (int i = 0; i < 7; ++i) figures.losses.add(1.0 / (1 + i));
  figures.add(MeasuredStep{.step = 4, .rate = 0.1, .median_update = 0.003});
  figures.add(MeasuredEvaluation{.step = 7, .train_loss = 0.5, .val_loss = 0.25});
  figures.units.push_back({.path = "model[2].ReLU", .kind = "ReLU", .dead_at_start = 0.125});
  figures.norms.push_back({.path = "model[1].BatchNorm1d", .values = 2});
  figures.input = {.mean = 1, .deviation = 2, .root_mean_square = 3, .is_normalised = true};
  figures.may_rate_fall = true;
  figures.began_at_0 = {0, 3};
  figures.first_step = 40;
  figures.not_finite = NotFinite{.step = 7, .origin = "loss", .path = "", .text = "the loss"};
  figures.outliers = NotFinite{.step = 6, .origin = "input", .path = "model[1]", .text = "values"};

  HealthFigures back;
  restore(back, parse_json(to_json(to_value(figures)), "test"));
  CHECK(to_json(to_value(back)) == to_json(to_value(figures)));
  CHECK(back.steps_done() == 47);
  CHECK(back.may_rate_fall);
  CHECK(back.began_at_0 == figures.began_at_0);
  CHECK(std::isnan(back.measured.at(0).gradient_norm));
  CHECK(back.losses.mean(0, 1) == figures.losses.mean(0, 1));
  back.losses.add(2);
  CHECK(back.losses.steps() == 8);
}

TEST_CASE("a checkpoint has no column of figures that were never measured") {
  HealthFigures figures;
  const auto names = [&] {
    std::string all;
    const Value stored = to_value(figures);
    for (const auto& [name, list] : stored["measured"].map())
      all += name + " " + std::to_string(list.list().size()) + "; ";
    return all;
  };
  CHECK(names().empty());
  for (int i = 0; i < 3; ++i) figures.add(MeasuredStep{.step = static_cast<double>(i), .median_update = 0.001});
  CHECK(names() == "median_update 3; step 3; ");
  figures.add(MeasuredStep{.step = 3, .square = 0.5});
  CHECK(names() == "median_update 4; square 4; step 4; ");

  HealthFigures back;
  restore(back, to_value(figures));
  REQUIRE(back.measured.size() == 4);
  CHECK(std::isnan(back.measured.at(0).square));
  CHECK(back.measured.at(3).square == 0.5);
  CHECK(std::isnan(back.measured.at(3).median_update));
}

TEST_CASE("figures in another form, as lists of rows, are refused") {
  Value stored = to_value(HealthFigures{});
  const std::string table = GENERATE("measured", "evaluations");
  stored.set(table, Value::List{Value::List{4, 0.1, 0.001}});
  HealthFigures back;
  CHECK_THROWS_AS(restore(back, stored), std::logic_error);
}

TEST_CASE("a curve of losses goes on from a checkpoint as if it had not ended, in the middle of a block, too") {
  for (const int before : {255, 256, 1'001, 1'003}) {
    LossCurve whole;
    for (int i = 0; i < before; ++i) whole.add(1.0 / (1 + i));
    LossCurve back = LossCurve::of_value(parse_json(to_json(whole.to_value()), "test"));
    CHECK(back.mean(0.9, 1) == whole.mean(0.9, 1));
    for (int i = before; i < before + 50; ++i) {
      whole.add(1.0 / (1 + i));
      back.add(1.0 / (1 + i));
    }
    CHECK(to_json(back.to_value()) == to_json(whole.to_value()));
  }
}

}  // namespace trainlab::figures_test
