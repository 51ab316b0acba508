// Forecasts of curves with closed forms, and of the curves that runs of recipes have left.
#include <catch2/catch.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/files.h"
#include "core/random/stream.h"
#include "forecast/forecast.h"

namespace trainlab::forecast_test {

namespace {

using Form = std::function<double(double step)>;

LearningCurve curve_of(const Form& form, int validations, bool minimize = true) {
  LearningCurve curve(minimize);
  for (int i = 1; i <= validations; ++i) curve.add(10 * i, form(10 * i));
  return curve;
}

Forecast forecast_at(const LearningCurve& curve, std::int64_t step, bool keeps_best = false) {
  const auto found = forecast_of(curve, "val.loss", {.at = step, .keeps_best = keeps_best, .rate_falls = false});
  REQUIRE(found);
  return *found;
}

// A training that has reached its length.
FinishedCurve finished(LearningCurve curve) {
  const double length = curve.points().back().step;
  return {.curve = std::move(curve), .length = length};
}

double power(double x) { return 0.2 + 3 * std::pow(x, -0.6); }
double exponential(double x) { return 0.2 + 2 * std::exp(-x / 250); }
double inverse_logarithm(double x) { return 0.2 + 1.5 / std::log1p(x / 10); }
double mmf(double x) { return 0.2 + 2 * 90 / (90 + std::pow(x, 1.2)); }

}  // namespace

TEST_CASE("curves of each family are forecast") {
  const struct {
    const char* name;
    Form form;
  } forms[] = {{"pow3", power}, {"exp3", exponential}, {"ilog2", inverse_logarithm}, {"mmf4", mmf}};
  for (const auto& [name, form] : forms) {
    for (const int validations : {10, 25, 50, 75}) {
      INFO(name << ", " << validations << " of 100 validations");
      const Forecast found = forecast_at(curve_of(form, validations), 1000);
      const double now = form(10 * validations), last = form(1000);
      // In shares of what is still to be gained.
      CHECK(std::abs(found.value - last) < 0.1 * (now - last) + 1e-4);
      CHECK(found.low <= last);
      CHECK(found.high >= last);
      CHECK(found.at == 1000);
    }
  }
}

TEST_CASE("the interval's half-width follows the last half's fall, how late it comes, and what is left of the run") {
  // From step 200 to step 800: 2 doublings, and 3 times the steps so far. Above the value, where no bound is near.
  const auto half = [](const Form& form, bool keeps_best, bool rate_falls) {
    const auto found = forecast_of(curve_of(form, 20, false), "val.gain",
                                   {.at = 800, .keeps_best = keeps_best, .rate_falls = rate_falls});
    REQUIRE(found);
    return found->high - found->value;
  };
  const auto fall = [](const Form& form) {
    double middle = 0, now = 0;
    for (int i = 8; i <= 12; ++i) middle += form(10 * i) / 5;
    for (int i = 17; i <= 20; ++i) now += form(10 * i) / 4;
    return now - middle;
  };
  const Form even = [](double x) { return 0.4 * std::log(x); };
  CHECK(half(even, false, false) == Approx(1.5 * fall(even) * 3 * 2).epsilon(1e-3));
  CHECK(half(even, true, false) == Approx(0.7 * fall(even) * 3 * 2).epsilon(1e-3));
  CHECK(half(even, false, true) == Approx(0.5 * fall(even) * 3 * 2).epsilon(1e-3));
  CHECK(half(even, true, true) == Approx(half(even, false, true)));
  // Four times as much in the last half as in the quarter before it.
  const Form late = [](double x) { return 2 + std::pow(x / 200, 2); };
  double quarter = 0;
  for (int i = 4; i <= 6; ++i) quarter += late(10 * i) / 3;
  double middle = 0;
  for (int i = 8; i <= 12; ++i) middle += late(10 * i) / 5;
  CHECK(half(late, true, false) == Approx(0.7 * fall(late) * (fall(late) / (middle - quarter)) * 3 * 2).epsilon(0.02));
}

TEST_CASE("a metric that is larger the better is forecast as the mirrored one") {
  const auto accuracy = [](double x) { return 1 - 0.5 * power(x); };
  const Forecast loss = forecast_at(curve_of([](double x) { return 0.5 * power(x); }, 30), 1000);
  const Forecast found = forecast_at(curve_of(accuracy, 30, false), 1000);
  CHECK(found.value == Approx(1 - loss.value));
  CHECK(found.low == Approx(1 - loss.high));
  CHECK(found.high == Approx(1 - loss.low));
}

TEST_CASE("no forecast goes beyond 0 for a loss, or beyond 1 for a share") {
  const auto steep = [](double x) { return 2 - 0.25 * std::log(x); };  // −0.07 at step 4,000
  const Forecast loss = forecast_at(curve_of(steep, 20), 4'000);
  CHECK(loss.low == 0);
  CHECK(loss.value >= 0);
  const Forecast share = forecast_at(curve_of([&](double x) { return 1 - steep(x) / 2; }, 20, false), 4'000);
  CHECK(share.high == 1);
  // A log-likelihood has no such bound.
  CHECK(forecast_at(curve_of([&](double x) { return steep(x) - 1; }, 20), 4'000).low < 0);
}

TEST_CASE("the best value never becomes worse") {
  const auto turning = [](double x) { return 1 + std::pow((x - 200) / 200, 2) * 0.5; };
  const Forecast found = forecast_at(curve_of(turning, 40), 1000, true);
  CHECK(found.high == 1);
  CHECK(found.value <= 1);
  CHECK(found.value > 0.9);
}

TEST_CASE("a curve with few validations, and one that has arrived") {
  CHECK_FALSE(forecast_of(LearningCurve(true), "val.loss", {.at = 10}));
  CHECK_FALSE(forecast_of(curve_of(power, 4), "val.loss", {.at = 1000}));
  CHECK(forecast_of(curve_of(power, 5), "val.loss", {.at = 1000}));
  CHECK_FALSE(forecast_of(curve_of(power, 5), "val.loss", {.at = 1001}));  // more than 20 times as far
  CHECK(most_gain(curve_of(power, 20), 40'000));  // what may still be gained is asked however far ahead
  for (const std::int64_t at : {500, 400}) {
    const Forecast found = forecast_at(curve_of(power, 50), at);
    CHECK(found.value == power(500));
    CHECK(found.low == found.high);
  }
}

TEST_CASE("a finished curve says more than the families") {
  // A fall of the rate at three fifths, which no curve shows before.
  const auto with_drop = [](double size) {
    return [size](double x) { return size * (0.4 + std::exp(-x / 300) - (x > 600 ? 0.2 : 0)); };
  };
  const FinishedCurve before = finished(curve_of(with_drop(1), 100));
  const LearningCurve now = curve_of(with_drop(1.1), 50);
  const ForecastQuestion question{.at = 1000, .keeps_best = false, .rate_falls = true};
  const Forecast alone = *forecast_of(now, "val.loss", question);
  CHECK(alone.references == 0);
  CHECK(alone.rate_falls);
  const Forecast found = *forecast_of(now, "val.loss", question, {&before, 1});
  CHECK(found.value == Approx(with_drop(1.1)(1000)));
  CHECK(found.references == 1);
  CHECK_FALSE(found.rate_falls);
  CHECK(found.high - found.value == Approx(0.6 * (with_drop(1.1)(500) - with_drop(1.1)(1000))).epsilon(0.01));
  CHECK(text_of(found).ends_with("), from a finished run"));
  // Shares, of which larger ones are better, change by the same amount; so does the last quarter.
  const auto share = [&](double size) { return [=](double x) { return 1 - with_drop(size)(x) / 2; }; };
  const FinishedCurve shares = finished(curve_of(share(1), 100, false));
  const Forecast of_share = *forecast_of(curve_of(share(1.1), 50, false), "val.accuracy", question, {&shares, 1});
  CHECK(of_share.value == Approx(share(1.1)(500) + share(1)(1000) - share(1)(500)));
  CHECK(forecast_of(curve_of(with_drop(1.1), 80), "val.loss", question, {&before, 1})->value ==
        Approx(with_drop(1.1)(800) + with_drop(1)(1000) - with_drop(1)(800)));
  // A finished curve of another length, of which the course is the same.
  LearningCurve half_as_long(true);
  for (int i = 1; i <= 50; ++i) half_as_long.add(i, with_drop(1)(20 * i));
  const FinishedCurve shorter = finished(half_as_long);
  CHECK(forecast_of(now, "val.loss", question, {&shorter, 1})->value == Approx(found.value));
}

TEST_CASE("the same training twice says no more than once") {
  const std::vector<FinishedCurve> twice(2, finished(curve_of(exponential, 100)));
  const auto found = forecast_of(curve_of(exponential, 50), "val.loss", {.at = 1000}, twice);
  CHECK(found->references == 1);
  CHECK(found->value == Approx(exponential(1000)));
  CHECK(found->high > found->value);
}

TEST_CASE("curves that agree at two points by chance are two curves, and leave the noise of the validations") {
  const auto rough = [](double size) {
    return [size](double x) { return exponential(x) + size * std::sin(2 * 3.14159265358979 * x / 500 + 0.3 * x); };
  };
  std::vector<FinishedCurve> all;
  for (const double size : {0.01, 0.02}) {
    LearningCurve curve(true);
    for (int i = 1; i <= 100; ++i) curve.add(10 * i, i % 50 == 0 ? exponential(10 * i) : rough(size)(10 * i));
    all.push_back(finished(std::move(curve)));
  }
  LearningCurve now(true);
  for (int i = 1; i <= 50; ++i) now.add(10 * i, rough(0.015)(10 * i));
  const Forecast found = *forecast_of(now, "val.loss", {.at = 1000}, all);
  CHECK(found.references == 2);
  CHECK(found.high - found.low > 0.002);  // every factor is the same
}

TEST_CASE("of finished curves of other data one alone says nothing") {
  const LearningCurve now = curve_of(exponential, 20);
  const ForecastQuestion question{.at = 1000, .keeps_best = true};
  std::vector<FinishedCurve> others{finished(curve_of([](double x) { return 0.9 * exponential(x); }, 100)),
                                    finished(curve_of([](double x) { return 1.2 * exponential(x); }, 100))};
  for (FinishedCurve& one : others) one.of_other_data = true;
  const Forecast alone = *forecast_of(now, "val.loss", question);
  const Forecast by_one = *forecast_of(now, "val.loss", question, std::span(others).first(1));
  CHECK((by_one.references == 0 && !by_one.of_other_data && by_one.value == alone.value));
  const Forecast by_two = *forecast_of(now, "val.loss", question, others);
  CHECK((by_two.references == 2 && by_two.of_other_data));
  CHECK(text_of(by_two).ends_with("), from 2 finished runs on other data"));
}

TEST_CASE("finished curves that a rule has ended tell of a training as long as they went on") {
  // Two trainings of the length 1000, ended after 300 and after 600 steps.
  const FinishedCurve at_300{.curve = curve_of(power, 30), .length = 1000};
  const FinishedCurve at_600{.curve = curve_of(exponential, 60), .length = 1000};
  const std::vector<FinishedCurve> both{at_300, at_600};
  const ForecastQuestion question{.at = 1000};
  const auto forecast = [&](int validations, std::span<const FinishedCurve> by) {
    return *forecast_of(curve_of(exponential, validations), "val.loss", question, by);
  };
  CHECK(forecast(20, both).references == 2);
  // At the same step of their length, not at the same share of their own steps; and up to where the rule ended them.
  CHECK(forecast(20, {&at_600, 1}).value == Approx(exponential(600)));
  CHECK(forecast(40, both).references == 1);
  CHECK(forecast(40, both).value == Approx(exponential(600)));
  CHECK(forecast(60, both).references == 0);
  CHECK(forecast(60, both).value == forecast(60, {}).value);
}

TEST_CASE("a training that a budget ends before its length is told by what finished curves were at this step") {
  const FinishedCurve whole = finished(curve_of(exponential, 100));
  const ForecastQuestion question{.at = 400, .length = 1000};
  const Forecast found = *forecast_of(curve_of(exponential, 20), "val.loss", question, {&whole, 1});
  CHECK(found.at == 400);
  CHECK(found.references == 1);
  CHECK(found.value == Approx(exponential(400)));
}

TEST_CASE("four of five intervals from finished curves hold the value") {
  const std::size_t count = GENERATE(3, 7, 9, 30);
  int held = 0;
  constexpr int repeats = 400;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    std::vector<FinishedCurve> all;
    for (std::size_t i = 0; i <= count; ++i) {
      Stream random(Key(static_cast<std::uint64_t>(repeat)).fold(i));
      const double level = 0.02 * random.normal(), slope = 0.05 * random.normal();
      LearningCurve curve(true);
      for (int v = 1; v <= 40; ++v)
        curve.add(v, 1 + level + std::exp(-v / 10.0) + slope * v / 40 + 0.005 * random.normal());
      all.push_back(finished(std::move(curve)));
    }
    const std::vector<CurvePoint>& own = all[0].curve.points();
    LearningCurve seen(true);
    for (std::size_t i = 0; i < 20; ++i) seen.add(own[i].step, own[i].value);
    const auto found = forecast_of(seen, "val.loss", {.at = 40}, std::span(all).subspan(1));
    const double last = own.back().value;
    held += found->low <= last && last <= found->high;
  }
  CHECK(held > 0.75 * repeats);
  CHECK(held < 0.88 * repeats);
}

TEST_CASE("a curve that has ended is forecast to stay, and one that falls evenly to fall on") {
  const auto ended = [](double x) { return 0.3 + std::max(0.0, 1 - x / 150); };
  CHECK(forecast_at(curve_of(ended, 40), 800).value == Approx(0.3).margin(0.005));
  const auto line = [](double x) { return 3 - x / 400; };
  const Forecast found = forecast_at(curve_of(line, 50), 1000, true);
  CHECK(found.value < line(500) - 0.2);
  CHECK(found.low < line(1000));
}

TEST_CASE("values of any size, and curves that do not move, give finite forecasts") {
  for (const double size : {1e-300, 1e-12, 1.0, 1e12, 1e300}) {
    INFO(size);
    for (const double step : {0.0, 0.01}) {
      const Forecast found = forecast_at(curve_of([&](double x) { return size * (1 - step * x / 300); }, 30), 1000);
      CHECK(std::isfinite(found.value));
      CHECK(found.low <= found.value);
      CHECK(found.value <= found.high);
    }
  }
}

TEST_CASE("four of five intervals hold the value of noisy curves") {
  constexpr int curves = 300;
  for (const int validations : {25, 50, 75}) {
    int held = 0;
    double error = 0, of_last = 0;
    for (int k = 0; k < curves; ++k) {
      Stream stream(Key(11).fold(static_cast<std::uint64_t>(k)));
      const Form form = k % 3 == 0 ? power : k % 3 == 1 ? exponential : mmf;
      std::vector<double> values;
      for (int i = 1; i <= 100; ++i) values.push_back(form(10 * i) + 0.01 * stream.normal());
      LearningCurve curve(true);
      for (int i = 1; i <= validations; ++i) curve.add(10 * i, values[static_cast<std::size_t>(i) - 1]);
      const Forecast found = forecast_at(curve, 1000);
      held += found.low <= values.back() && values.back() <= found.high;
      error += std::abs(found.value - form(1000));
      of_last += std::abs(curve.points().back().value - form(1000));
    }
    INFO(validations << " of 100 validations");
    CHECK(held >= 0.8 * curves);
    CHECK(error < 0.7 * of_last);
  }
}

// val.loss of recipes/digits.lua with its seed 1, one validation each 23 steps.
TEST_CASE("the curve that a recipe has left is forecast from its first third on") {
  const std::vector<double> values{2.175,  1.701,  0.9287, 0.5531, 0.4169, 0.3399, 0.3016, 0.278,  0.248,
                                   0.2213, 0.2175, 0.2117, 0.1877, 0.185,  0.1736, 0.1757, 0.1692, 0.1651,
                                   0.1626, 0.1574, 0.1578, 0.1566, 0.1549, 0.1488, 0.1467, 0.1484, 0.146,
                                   0.1465, 0.1409, 0.1396, 0.1426, 0.1401, 0.1397, 0.1403, 0.1398};
  for (const std::size_t seen : {12, 18, 26}) {
    INFO(seen << " of " << values.size() << " validations");
    LearningCurve curve(true);
    for (std::size_t i = 0; i < seen; ++i) curve.add(23.0 * static_cast<double>(i + 1), values[i]);
    const Forecast found = forecast_at(curve, 23 * std::ssize(values));
    CHECK(found.low <= values.back());
    CHECK(found.high >= values.back());
    CHECK(std::abs(found.value - values.back()) < std::abs(values[seen - 1] - values.back()));
  }
}

TEST_CASE("a forecast in words and as a value") {
  Forecast forecast{.metric = "val.loss", .value = 0.3119, .low = 0.29, .high = 0.3312, .at = 400, .rate_falls = true};
  CHECK(text_of(forecast) == "val.loss 0.312 (0.29 to 0.331), or better");
  const Value value = to_value(forecast);
  CHECK(value["metric"] == Value("val.loss"));
  CHECK(value["at"] == Value(400));
  CHECK(value["at_is_estimate"] == Value(false));
  CHECK(value["rate_falls"] == Value(true));
  forecast.rate_falls = false;
  CHECK(text_of(forecast) == "val.loss 0.312 (0.29 to 0.331)");
}

}  // namespace trainlab::forecast_test
