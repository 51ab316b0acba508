// The figures of health: the curve of the loss, rows that become sparser, and the way into a checkpoint and back.
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

TEST_CASE("the worst of a loss curve is a mean of five steps, and no single spike") {
  LossCurve curve;
  for (int i = 0; i < 100; ++i) curve.add(i == 50 ? 101 : 1);
  CHECK(curve.worst() == Approx(21));
  curve.add(std::nan(""));
  curve.add(std::numeric_limits<double>::infinity());
  CHECK(curve.steps() == 100);
}

TEST_CASE("rows become sparser, and the first and the latest stay") {
  HealthFigures figures;
  for (int i = 0; i < 5'000; ++i) figures.add(MeasuredEvaluation{.step = static_cast<double>(i)});
  CHECK(figures.evaluations.size() <= HealthFigures::most_rows);
  CHECK(figures.evaluations.front().step == 0);
  CHECK(figures.evaluations.back().step == 4'999);
  for (std::size_t i = 1; i < figures.evaluations.size(); ++i)
    CHECK(figures.evaluations[i - 1].step < figures.evaluations[i].step);
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
  figures.first_step = 40;
  figures.not_finite = NotFinite{.step = 7, .origin = "loss", .path = "", .text = "the loss"};

  HealthFigures back;
  restore(back, parse_json(to_json(to_value(figures)), "test"));
  CHECK(to_json(to_value(back)) == to_json(to_value(figures)));
  CHECK(back.steps_done() == 47);
  CHECK(back.may_rate_fall);
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
