// Laws fitted to runs: the constants behind synthetic runs are found again, from files too, and runs that cannot tell
// are refused.
#include "plan/fit.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <eigen3/Eigen/Dense>
#include <limits>

#include "core/files.h"
#include "core/random/stream.h"
#include "plan/approaches.h"
#include "plan/plan.h"
#include "support/error_of.h"
#include "support/temporary_folder.h"

namespace trainlab::fit_test {

using Catch::Contains;
using trainlab::test::error_of;
using trainlab::test::TemporaryFolder;

namespace {

const Law& refit() { return known_law("besiroglu").law; }

// Models of 8 sizes, each trained on 7 sizes of data, of which the largest have 3e21 FLOPs as in the paper; the loss of
// each is off by a factor of normal logarithm.
std::vector<RunPoint> synthetic(const Law& law, double noise) {
  Stream stream(Key(7).fold("runs"));
  std::vector<RunPoint> points;
  for (int i = 0; i < 8; ++i) {
    const double parameters = 5e7 * std::pow(2, i);
    for (int j = 0; j < 7; ++j) {
      const double tokens = parameters * 2.5 * std::pow(2, j);
      points.push_back({parameters, tokens, loss_of(law, {parameters, tokens}) * std::exp(noise * stream.normal())});
    }
  }
  return points;
}

void check_near(const Law& found, const Law& law, double share) {
  CHECK(found.e == Approx(law.e).epsilon(share));
  CHECK(found.a == Approx(law.a).epsilon(share));
  CHECK(found.b == Approx(law.b).epsilon(share));
  CHECK(found.alpha == Approx(law.alpha).epsilon(share));
  CHECK(found.beta == Approx(law.beta).epsilon(share));
}

// Approach 2 of Hoffmann et al. 2022 at one number of FLOPs: the lowest point of the parabola through the losses of
// models between `low` and `high` times the best size.
double parabola_parameters(const Law& law, double flops, double low, double high) {
  constexpr int count = 9;
  const double best = best_allocation(law, flops).parameters;
  Eigen::MatrixXd powers(count, 3);
  Eigen::VectorXd losses(count);
  for (int i = 0; i < count; ++i) {
    const double x = std::log(low) + (std::log(high) - std::log(low)) * i / (count - 1);
    const double n = best * std::exp(x);
    powers.row(i) << 1, x, x * x;
    losses[i] = loss_of(law, {n, flops / 6 / n});
  }
  const Eigen::VectorXd c = powers.colPivHouseholderQr().solve(losses);
  return best * std::exp(-c[1] / (2 * c[2]));
}

}  // namespace

TEST_CASE("the constants behind synthetic runs are found again") {
  for (const Law& law : {refit(), Law{.e = 1, .a = 100, .b = 500, .alpha = 0.5, .beta = 0.3},
                         Law{.e = 2.5, .a = 3000, .b = 60, .alpha = 0.4, .beta = 0.2}}) {
    const std::vector<RunPoint> points = synthetic(law, 0);
    const LawFit fit = fit_law(points);
    check_near(fit.law, law, 0.02);
    CHECK(fit.runs == points.size());
    CHECK(fit.samples.size() == 200);
  }
}

TEST_CASE("with noise the intervals hold the constants") {
  const Value fit = to_value(fit_law(synthetic(refit(), 0.002)));
  CHECK(fit["deviation"].number() == Approx(0.002).epsilon(0.25));
  const auto holds = [&](const char* name, double truth) {
    const Value::List& interval = fit["intervals"][name].list();
    const double low = interval[0].number(), high = interval[1].number(), reach = high - low;
    INFO(name << " " << low << " … " << high);
    CHECK(low < high);
    // The middle four fifths miss one truth in five: a law of five constants may miss one, but not by much.
    CHECK(low - reach / 2 < truth);
    CHECK(truth < high + reach / 2);
  };
  holds("E", refit().e);
  holds("A", refit().a);
  holds("B", refit().b);
  holds("alpha", refit().alpha);
  holds("beta", refit().beta);
  holds("exponent", refit().beta / (refit().alpha + refit().beta));
}

TEST_CASE("a law predicts the loss of a larger run with an interval") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "law.json";
  write_atomic(file, to_json(to_value(fit_law(synthetic(refit(), 0.004)))));
  const KnownLaw law = read_law(file.string());
  CHECK(law.deviation > 0.003);
  CHECK(law.deviation < 0.006);
  const Allocation larger{.parameters = 1e11, .tokens = 2e12};
  const LossInterval interval = interval_of(law, larger).value();
  CHECK(interval.low < loss_of(refit(), larger));
  CHECK(interval.high > loss_of(refit(), larger));
  CHECK(std::log(interval.high / interval.low) >= 2 * 1.2816 * law.deviation * (1 - 1e-9));
  CHECK_FALSE(interval_of(known_law("besiroglu"), larger));
}

// A ladder of four sizes on three budgets, each twice the one before. The loss of all runs with more than `from` FLOPs
// is lower by the share `miss`.
std::vector<RunPoint> ladder(double from, double miss) {
  std::vector<RunPoint> points;
  for (const double flops : {1e15, 2e15, 4e15}) {
    for (const double parameters : {1e6, 2e6, 4e6, 8e6}) {
      const double tokens = flops / 6 / parameters;
      points.push_back({parameters, tokens, loss_of(refit(), {parameters, tokens}) * (flops > from ? 1 - miss : 1)});
    }
  }
  return points;
}

TEST_CASE("the drift of a law is how far the shorter runs miss the longest") {
  const LawFit exact = fit_law(ladder(1e16, 0.03));
  CHECK(exact.flops.most == Approx(4e15));
  CHECK(std::abs(exact.drift.value()) < 1e-4);
  CHECK(fit_law(ladder(3e15, 0.03)).drift.value() == Approx(-std::log(0.97)).epsilon(0.01));
  // Without the longest runs no six are left.
  std::vector<RunPoint> few = ladder(3e15, 0.03);
  few.erase(few.begin(), few.begin() + 3);
  CHECK_FALSE(fit_law(few).drift);
}

TEST_CASE("the fewer runs show how far one is from the law, the wider is the interval") {
  const Allocation run{.parameters = 1e9, .tokens = 2e10};
  KnownLaw law{.name = "fit", .source = "", .law = refit(), .samples = {refit()}, .deviation = 0.01};
  const auto half_width = [&](double freedom) {
    law.freedom = freedom;
    const LossInterval interval = interval_of(law, run).value();
    return std::log(interval.high / interval.low) / 2;
  };
  // The quantile 0.9 of Student's distribution.
  CHECK(half_width(1) == Approx(0.01 * 3.077684).epsilon(1e-5));
  CHECK(half_width(4) == Approx(0.01 * 1.533206).epsilon(1e-5));
  CHECK(half_width(std::numeric_limits<double>::infinity()) == Approx(0.01 * 1.281552).epsilon(1e-5));
  // The same for the law itself, which is uncertain as far as the laws of resampled runs differ.
  const double one = std::log(loss_of(refit(), run));
  Law less = refit(), more = refit();
  less.e -= 0.01;
  more.e += 0.01;
  law.samples = {less, refit(), more};
  law.deviation = 0;
  const double known = half_width(std::numeric_limits<double>::infinity());
  CHECK(known == Approx(0.8 * 0.01 / std::exp(one)).epsilon(0.01));
  CHECK(half_width(1) == Approx(known * 3.077684 / 1.281552).epsilon(1e-5));
}

TEST_CASE("beyond its runs a law that drifts has a wider interval") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "law.json";
  write_atomic(file, to_json(to_value(fit_law(ladder(3e15, 0.03)))));
  const KnownLaw law = read_law(file.string());
  KnownLaw steady = law;
  steady.drift = 0;
  const auto width = [](const KnownLaw& of, double flops) {
    const LossInterval interval = interval_of(of, {.parameters = 4e6, .tokens = flops / 6 / 4e6}).value();
    return std::log(interval.high / interval.low);
  };
  CHECK(width(law, 4e15) == Approx(width(steady, 4e15)));
  CHECK(width(law, 3.2e16) > 2 * 1.2816 * 3 * 0.03);  // three doublings
  CHECK(width(law, 3.2e16) > 2 * width(steady, 3.2e16));
}

TEST_CASE("a law that an earlier version fitted has its drift, though not all of its runs' ranges") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "law.json";
  Value fit = to_value(fit_law(ladder(3e15, 0.03)));
  const auto read = [&](std::initializer_list<const char*> without) {
    for (const char* name : without) fit.map().erase(name);
    write_atomic(file, to_json(fit));
    return read_law(file.string());
  };
  const KnownLaw whole = read({});
  const KnownLaw older = read({"least_parameters", "most_parameters", "least_tokens", "most_tokens"});
  CHECK(older.knows_runs());
  CHECK_FALSE(older.parameters.is_known());
  const KnownLaw oldest = read({"least_flops"});
  CHECK_FALSE(oldest.knows_runs());
  CHECK(oldest.drift > 0);
  const auto width = [](const KnownLaw& law) {
    const LossInterval interval = interval_of(law, {.parameters = 4e6, .tokens = 3.2e16 / 6 / 4e6}).value();
    return interval.high - interval.low;
  };
  CHECK(width(older) == width(whole));
  CHECK(width(oldest) == width(whole));
}

TEST_CASE("runs without a limit of the loss have E = 0") {
  CHECK(fit_law(synthetic({.e = 0, .a = 100, .b = 500, .alpha = 0.3, .beta = 0.4}, 0)).law.e < 1e-3);
}

TEST_CASE("the fitted law is at least as near to the runs as the law behind them") {
  const std::vector<RunPoint> points = synthetic(refit(), 0.01);
  CHECK(fit_law(points).objective <= huber_sum(refit(), points));
}

TEST_CASE("the objective is a sum") {
  std::vector<RunPoint> points = synthetic(refit(), 0.01);
  const double once = huber_sum(refit(), points);
  const std::vector<RunPoint> copy = points;
  points.insert(points.end(), copy.begin(), copy.end());
  CHECK(huber_sum(refit(), points) == Approx(2 * once));
  // Huber's function at 1e-3 / 2 and at 1: half the square, and nearly the line.
  const double loss = loss_of(refit(), {1e9, 1e10});
  const auto at = [&](double difference) {
    const std::vector<RunPoint> one = {{1e9, 1e10, loss * std::exp(difference)}};
    return huber_sum(refit(), one);
  };
  CHECK(at(5e-4) == Approx(1.25e-7));
  CHECK(at(-1) == Approx(1e-3 * (1 - 5e-4)));
}

TEST_CASE("a fit is the same for the same runs") {
  const std::vector<RunPoint> points = synthetic(refit(), 0.01);
  CHECK(to_json(to_value(fit_law(points))) == to_json(to_value(fit_law(points))));
}

TEST_CASE("parabolas through wide profiles of equal FLOPs are biased where the law is not symmetric") {
  const Law asymmetric{.e = 1.7, .a = 400, .b = 2000, .alpha = 0.5, .beta = 0.25};
  const double best = best_allocation(asymmetric, 1e20).parameters;
  CHECK(parabola_parameters(asymmetric, 1e20, 0.9, 1 / 0.9) == Approx(best).epsilon(0.01));
  CHECK(std::abs(parabola_parameters(asymmetric, 1e20, 1.0 / 16, 16) / best - 1) > 0.1);
  CHECK(std::abs(parabola_parameters(asymmetric, 1e20, 1.0 / 4, 32) / best - 1) > 0.05);

  // The law fitted to the same runs is not.
  std::vector<RunPoint> points;
  for (const double flops : {1e18, 1e19, 1e20, 1e21}) {
    for (int i = 0; i < 9; ++i) {
      const double n = best_allocation(asymmetric, flops).parameters * std::pow(16, (i - 4) / 4.0);
      points.push_back({n, flops / 6 / n, loss_of(asymmetric, {n, flops / 6 / n})});
    }
  }
  CHECK(best_allocation(fit_law(points).law, 1e20).parameters == Approx(best).epsilon(0.02));
}

TEST_CASE("runs that cannot tell a law are refused") {
  const auto refusal = [](const std::vector<RunPoint>& points) { return error_of([&] { fit_law(points); }); };
  std::vector<RunPoint> points = synthetic(refit(), 0);
  CHECK_THAT(refusal({points.begin(), points.begin() + 5}), Contains("at least 6 runs, found 5"));
  CHECK_THAT(refusal({points.begin(), points.begin() + 7}), Contains("1 different numbers of parameters"));
  std::vector<RunPoint> equal = points;
  for (RunPoint& point : equal) point.loss = 2.5;
  CHECK_THAT(refusal(equal), Contains("runs have the same loss, 2.5, "));
  std::vector<RunPoint> rising = points;
  for (RunPoint& point : rising) point.loss = 1 + std::log(point.parameters) + std::log(point.tokens);
  CHECK_THAT(refusal(rising), Contains("do not show that the loss falls with the parameters"));
  // One run that is far from the others takes nothing from them.
  std::vector<RunPoint> with_outlier = points;
  with_outlier[3].loss = 1e6;
  CHECK(fit_law(with_outlier).law.alpha == Approx(refit().alpha).epsilon(0.1));
  for (RunPoint& point : points) point.tokens = 20 * point.parameters;
  CHECK_THAT(refusal(points), Contains("the tokens follow from the parameters"));
  for (RunPoint& point : points) point.tokens = 1e9;
  CHECK_THAT(refusal(points), Contains("1 different numbers of tokens"));
}

TEST_CASE("runs are read from tables and from folders of fits") {
  write_atomic("runs.csv", "name,N,D,loss\na,1e6,2e7,3.5\n\nb,2000000,4e7,3.25\n");
  make_directories("fit");
  write_atomic(
      "fit/summary.json",
      R"({"kind": "fit", "status": "done", "parameters": 650, "samples": 1200, "metrics": {"val.loss": 0.5}})");
  const std::vector<std::string> words = {"runs.csv", "fit"};
  const std::vector<RunPoint> points = read_runs(words).points;
  REQUIRE(points.size() == 3);
  CHECK(points[0].parameters == 1e6);
  CHECK(points[1].tokens == 4e7);
  CHECK(points[1].loss == 3.25);
  CHECK(points[2].parameters == 650);
  CHECK(points[2].tokens == 1200);
  CHECK(points[2].loss == 0.5);
}

TEST_CASE("a fit that ended before its length is left out, and named") {
  make_directories("cut");
  write_atomic("cut/summary.json", R"({"kind": "fit", "status": "stopped", "reason": "the time budget is used",
    "parameters": 650, "samples": 1200, "metrics": {"val.loss": 0.5}})");
  write_atomic("runs.csv", "N,D,loss\n1e6,2e7,3.5\n");
  const std::vector<std::string> words = {"cut", "runs.csv"};
  const ReadRuns runs = read_runs(words);
  CHECK(runs.points.size() == 1);
  CHECK(runs.left_out == std::vector<std::string>{"cut was cut short: the time budget is used"});
}

TEST_CASE("nonsense in tables and folders is refused with its place") {
  const auto refusal = [](const std::string& text) {
    write_atomic("runs.csv", text);
    return error_of([] {
      const std::vector<std::string> words = {"runs.csv"};
      read_runs(words);
    });
  };
  CHECK_THAT(refusal("parameters,tokens\n1,2\n"), Contains("runs.csv:1: no column loss"));
  CHECK_THAT(refusal("parameters,loss\n1,2\n"), Contains("runs.csv:1: no column tokens (or D)"));
  CHECK_THAT(refusal("N,D,loss\n1,2,3\n1,x,3\n"),
             Contains("runs.csv:3: column D: expected a number above 0, found \"x\""));
  CHECK_THAT(refusal("N,D,loss\n1,2,-3\n"),
             Contains("runs.csv:2: column loss: expected a number above 0, found \"-3\""));
  CHECK_THAT(refusal("N,D,loss\n1,2,nan\n"), Contains("column loss: expected a number above 0"));
  CHECK_THAT(refusal("N,D,loss\n1,2,inf\n"), Contains("column loss: expected a number above 0"));
  CHECK_THAT(refusal("N,D,loss\n1,2\n"), Contains("runs.csv:2:"));

  const auto refused_folder = [](const std::string& summary) {
    make_directories("run");
    write_atomic("run/summary.json", summary);
    return error_of([] {
      const std::vector<std::string> words = {"run"};
      read_runs(words);
    });
  };
  CHECK_THAT(refused_folder(R"({"kind": "sweep", "status": "done"})"),
             Contains("run is no fit: kind is \"sweep\"") && Contains("trials"));
  CHECK_THAT(refused_folder(R"({"kind": "fit", "status": "done", "parameters": 3, "samples": 4, "metrics": {}})"),
             Contains("val.loss"));
  CHECK_THAT(refused_folder(R"({"kind": "fit", "status": "interrupted"})"),
             Contains("run has not ended: its status is \"interrupted\""));
  remove_file("run/summary.json");
  const std::vector<std::string> words = {"run"};
  CHECK_THAT(error_of([&] { read_runs(words); }), Contains("run has no summary.json"));
}

TEST_CASE("a fitted law plans") {
  const LawFit fit = fit_law(synthetic(refit(), 0.01));
  write_atomic("law.json", to_json(to_value(fit), 2));
  const KnownLaw law = read_law("law.json");
  CHECK(law.law == fit.law);
  CHECK(law.samples == fit.samples);
  CHECK(answer(law, 1e22).low < answer(law, 1e22).high);
  // The runs had 6 · 5e7 · 2.5 · 5e7 to 6 · 6.4e9 · 160 · 6.4e9 FLOPs.
  CHECK(law.flops.least == Approx(3.75e16));
  CHECK(law.flops.most == Approx(3.93216e22));
  CHECK(law.parameters.least == 5e7);
  CHECK(law.parameters.most == 6.4e9);
  CHECK(law.tokens.least == 1.25e8);
  CHECK(law.tokens.most == 1.024e12);
  CHECK(make_plan({.flops = 1e24, .law = law_named("law.json")}).is_extrapolated() == true);
  CHECK(make_plan({.flops = 1e16, .law = law_named("law.json")}).is_extrapolated() == true);
  CHECK(make_plan({.flops = 1e20, .law = law_named("law.json")}).is_extrapolated() == false);
  const auto of_choice = [](double parameters, double tokens) {
    return make_plan({.parameters = parameters, .tokens = tokens, .law = law_named("law.json")})
        .is_extrapolated()
        .value();
  };
  CHECK_FALSE(of_choice(5e7, 1.25e8));
  CHECK_FALSE(of_choice(6.4e9, 1.024e12));
  CHECK(of_choice(4e7, 1e10));
  CHECK(of_choice(7e9, 1e10));
  CHECK(of_choice(1e9, 1e8));
  CHECK(of_choice(1e8, 2e12));
  CHECK(to_value(make_plan({.flops = 1e24, .law = law_named("law.json")}))["law"]["most_flops"].number() ==
        law.flops.most);
  write_atomic("mylaw", to_json(to_value(fit), 2));
  CHECK(make_plan({.flops = 1e20, .law = law_named("mylaw")}).law.law == fit.law);
  write_atomic("besiroglu", to_json(to_value(fit), 2));  // a published law is not taken from a file of its name
  CHECK(make_plan({.flops = 1e20, .law = law_named("besiroglu")}).law.law == refit());
  CHECK_THAT(error_of([] { make_plan({.flops = 1e20, .law = law_named("nolaw")}); }), Contains("nolaw"));
  write_atomic("law.json", R"({"law": {"E": 1, "A": 100, "B": 500, "alpha": 0.5, "beta": 0.3}})");
  const Plan unknown = make_plan({.flops = 1e20, .law = law_named("law.json")});  // whose runs the file does not tell
  CHECK_FALSE(unknown.is_extrapolated());
  CHECK(to_value(unknown)["extrapolated"].is_nil());
  write_atomic("law.json", R"({"law": {"E": 1}})");
  CHECK_THAT(error_of([] { read_law("law.json"); }), Contains("law.json:1: expected the JSON of `trainlab plan fit"));
}

}  // namespace trainlab::fit_test
