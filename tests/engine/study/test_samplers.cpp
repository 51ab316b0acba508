// Samplers: what they draw does not depend on the order, a grid has every point once, learning ones learn.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <set>

#include "study/study.h"
#include "study_support.h"

namespace trainlab::samplers_test {

namespace {

const char* const conditional = R"({
  "optim": {"@": "space.choice", "values": ["a", "b", "c"]},
  "momentum": {"@": "space:when", "source": {"@": "space.int", "low": 1, "high": 4},
               "parent": "optim", "values": ["b", "c"]},
  "nesterov": {"@": "space:when", "source": {"@": "space.choice", "values": [true, false]},
               "parent": "momentum", "values": [2]},
  "lr": {"@": "space.log", "low": 1e-4, "high": 1}})";

double branin(double x, double y) {
  constexpr double pi = std::numbers::pi;
  const double a = y - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6;
  return a * a + 10 * (1 - 1 / (8 * pi)) * std::cos(x) + 10;
}

// The best value of `trials` trials.
double search(const std::string& sampler, std::int64_t seed, int trials) {
  const Space space = parse_space(
      R"({"x": {"@": "space.uniform", "low": -5, "high": 10}, "y": {"@": "space.uniform", "low": 0, "high": 15}})");
  Study study(space, parse_sampler(sampler, space, seed), {});
  for (int i = 0; i < trials; ++i) {
    const std::int64_t trial = *study.ask().trial;
    const auto point = study.trials().point(trial);
    study.tell(trial, {branin(point[0], point[1])});
  }
  return study.trials().value(*study.best());
}

double median_of(const std::string& sampler, int trials) {
  std::vector<double> best;
  for (int seed = 1; seed <= 15; ++seed) best.push_back(search(sampler, seed, trials));
  std::nth_element(best.begin(), best.begin() + 7, best.end());
  return best[7];
}

}  // namespace

TEST_CASE("a random draw depends on seed, trial and name only") {
  const Space space = parse_space(conditional);
  const auto first = parse_sampler(R"({"@": "sampler.random"})", space, 5),
             second = parse_sampler(R"({"@": "sampler.random", "seed": 5})", space, 9);
  std::vector<std::vector<double>> forward, backward;
  const auto draw = [&](Sampler& sampler, std::int64_t trial) {
    std::vector<double> point(space.size(), std::nan(""));
    REQUIRE(sampler.sample(trial, 0, {}, point));
    return to_json(Value(space.params(point)));
  };
  std::vector<std::string> ahead, back;
  for (std::int64_t t = 0; t < 50; ++t) ahead.push_back(draw(*first, t));
  for (std::int64_t t = 49; t >= 0; --t) back.push_back(draw(*second, t));
  std::reverse(back.begin(), back.end());
  CHECK(ahead == back);
  CHECK(std::set<std::string>(ahead.begin(), ahead.end()).size() == 50);
  CHECK(draw(*parse_sampler(R"({"@": "sampler.random"})", space, 6), 0) != ahead[0]);
}

TEST_CASE("a grid has every point once and then ends") {
  const Space space = parse_space(conditional);
  for (const char* more : {"", R"(, "shuffle": true)"}) {
    Study study(space, parse_sampler(std::string(R"({"@": "sampler.grid", "points": 3)") + more + "}", space), {});
    std::set<std::string> seen;
    while (const auto trial = study.ask().trial) {
      seen.insert(to_json(Value(space.params(study.trials().point(*trial)))));
      study.tell(*trial, {0.0});
    }
    // lr 3 × (a: 1; b and c: momentum 4, of which one has nesterov's 2).
    CHECK(study.trials().size() == 3 * (1 + 2 * 5));
    CHECK(static_cast<std::int64_t>(seen.size()) == study.trials().size());
  }
  CHECK_THROWS_WITH(parse_sampler(R"({"@": "sampler.grid"})", space),
                    Catch::Contains("the range of 'lr' has infinitely many values") && Catch::Contains("points = n"));
}

TEST_CASE("a grid leaves out what is not allowed") {
  const Space space =
      parse_space(R"({"a": {"@": "space.int", "low": 0, "high": 9}, "b": {"@": "space.int", "low": 0, "high": 9}})");
  const auto allowed = [](auto point) { return point[0] + point[1] == 9; };
  Study study(space, parse_sampler(R"({"@": "sampler.grid"})", space), {.allowed = allowed});
  while (const auto trial = study.ask().trial) {
    CHECK(study.trials().point(*trial)[0] == static_cast<double>(*trial));
    CHECK(allowed(study.trials().point(*trial)));
  }
  CHECK(study.trials().size() == 10);
  Study impossible(space, parse_sampler(R"({"@": "sampler.grid"})", space), {.allowed = [](auto) { return false; }});
  CHECK_THROWS_WITH(impossible.ask(), Catch::Contains("constraints: none of the 100 points of the grid"));
}

namespace {

const char* const plane =
    R"({"a": {"@": "space.int", "low": 1, "high": 3}, "b": {"@": "space.int", "low": 1, "high": 3}})";

// The points of all trials as "1 2, 1 3, …", until the space is used up.
std::string to_the_end(Study& study) {
  std::string all;
  while (study.ask().trial) {
  }
  for (std::int64_t t = 0; t < study.trials().size(); ++t) {
    if (t > 0) all += ", ";
    for (const double x : study.trials().point(t))
      all += (all.empty() || all.back() == ' ' ? "" : " ") + number_text(x);
  }
  return all;
}

}  // namespace

TEST_CASE("a point of a grid that was given is not tried again, and another one costs none of the grid's") {
  const Space space = parse_space(R"({"a": {"@": "space.int", "low": 1, "high": 3}})");
  for (const bool distinct : {false, true}) {
    Study study(space, parse_sampler(R"({"@": "sampler.grid"})", space), {.distinct = distinct});
    study.enqueue(std::vector<double>{3});
    CHECK(to_the_end(study) == "3, 1, 2");
    // After the end too what is given is tried.
    study.enqueue(std::vector<double>{2});
    study.enqueue(std::vector<double>{std::nan("")});
    CHECK(to_the_end(study).starts_with("3, 1, 2, 2, "));
    CHECK(study.trials().size() == 5);
    CHECK(study.trials().count(TrialState::running) == 5);
  }
  const Space rates = parse_space(R"({"rate": {"@": "space.log", "low": 1e-4, "high": 0.1}})");
  Study study(rates, parse_sampler(R"({"@": "sampler.grid", "points": 4})", rates), {});
  for (const double rate : {0.001, 0.02, 0.02})
    study.enqueue(std::vector<double>{rate});  // the first is one of the grid
  to_the_end(study);
  CHECK(study.trials().size() == 4 + 2);
}

TEST_CASE("what is open of a given point comes from the grid, from a point that is not taken where there is one") {
  const Space space = parse_space(plane);
  Study study(space, parse_sampler(R"({"@": "sampler.grid"})", space), {});
  for (int i = 0; i < 4; ++i) study.enqueue(space.point(Value::Map{{"a", 2}}));
  study.enqueue(space.point(Value::Map{{"a", 2}, {"b", 1}}));
  // The last of them has all its values from the beginning; the fourth has nothing new left.
  CHECK(to_the_end(study) == "2 2, 2 3, 2 1, 2 1, 2 1, 1 1, 1 2, 1 3, 3 1, 3 2, 3 3");
}

TEST_CASE("a grid goes on alike when it is made anew, whatever was given and however many worked on it") {
  const Space space = parse_space(plane);
  const auto grid = [&](bool with_given) {
    Study study(space, parse_sampler(R"({"@": "sampler.grid", "shuffle": true})", space),
                {.allowed = [](auto point) { return point[0] + point[1] != 4; }});
    if (with_given) {
      study.enqueue(std::vector<double>{2, 3});
      study.enqueue(std::vector<double>{1, std::nan("")});
    }
    return study;
  };
  Study whole = grid(true);
  const std::string all = to_the_end(whole);
  CHECK(whole.trials().size() == 6);
  for (std::int64_t first = 2; first <= 6; ++first) {
    // It sees the trials of others begin, all of them at once or one by one, and does the rest.
    for (const bool one_by_one : {false, true}) {
      Study study = grid(false);
      for (std::int64_t t = 0; t < first; ++t) {
        if (one_by_one && t > 1) CHECK(same_point(study.next().point, whole.trials().point(t)));
        study.begin(t, whole.trials().point(t));
      }
      CHECK(to_the_end(study) == all);
    }
  }
}

TEST_CASE("the points of a grid are counted as they are, without what is inactive in them") {
  const auto space_of = [](int values) {
    std::string text = R"({"optim": {"@": "space.choice", "values": ["a", "b", "c", "d", "e"]})";
    for (const std::string optim : {"a", "b", "c", "d", "e"}) {
      for (int k = 0; k < 3; ++k) {
        text += ", \"" + optim + std::to_string(k) +
                R"(": {"@": "space:when", "source": {"@": "space.int", "low": 1, "high": )" + std::to_string(values) +
                R"(}, "parent": "optim", "values": ")" + optim + "\"}";
      }
    }
    return parse_space(text + "}");
  };
  const Space space = space_of(10);
  Study study(space, parse_sampler(R"({"@": "sampler.grid"})", space), {});
  while (study.ask().trial) {
  }
  CHECK(study.trials().size() == 5 * 1000);
  CHECK_THROWS_WITH(parse_sampler(R"({"@": "sampler.grid"})", space_of(60)),
                    Catch::Contains("at most a million points"));
}

TEST_CASE("quasi-random points fill the space evenly, and differ by seed") {
  const Space space = parse_space(
      R"({"a": {"@": "space.uniform", "low": 0, "high": 1}, "b": {"@": "space.uniform", "low": 0, "high": 1},
                                      "c": {"@": "space.uniform", "low": 0, "high": 1}})");
  for (const char* name : {"sampler.sobol", "sampler.halton"}) {
    INFO(name);
    const auto sampler = parse_sampler(std::string(R"({"@": ")") + name + "\"}", space, 4);
    const auto other = parse_sampler(std::string(R"({"@": ")") + name + "\"}", space, 5);
    std::vector<double> point(3), first(3);
    // Each of 64 stripes holds one of 64 points (of a base-2 net), and the error of a mean is far below that of chance.
    std::set<int> stripes;
    double sum = 0, product = 0;
    constexpr int count = 1024;
    for (int t = 0; t < count; ++t) {
      std::fill(point.begin(), point.end(), std::nan(""));
      REQUIRE(sampler->sample(t, 0, {}, point));
      if (t == 0) first = point;
      if (t < 64) stripes.insert(static_cast<int>(point[0] * 64));
      sum += point[1] / count;
      product += point[0] * point[1] * point[2] / count;
    }
    CHECK(stripes.size() == 64);
    CHECK(std::abs(sum - 0.5) < 1e-3);
    CHECK(std::abs(product - 0.125) < 2e-3);
    std::vector<double> again(3, std::nan(""));
    REQUIRE(sampler->sample(0, 0, {}, again));
    CHECK(again == first);
    std::fill(again.begin(), again.end(), std::nan(""));
    REQUIRE(other->sample(0, 0, {}, again));
    CHECK(again != first);
  }
}

TEST_CASE("TPE finds better points than chance, also where parameters are conditional") {
  CHECK(median_of(R"({"@": "sampler.tpe"})", 100) - 0.397887 <
        0.5 * (median_of(R"({"@": "sampler.random"})", 100) - 0.397887));

  const Space space = parse_space(conditional);
  Study study(space, parse_sampler(R"({"@": "sampler.tpe"})", space, 2), {});
  int good = 0;
  for (int i = 0; i < 120; ++i) {
    const std::int64_t trial = *study.ask().trial;
    const Value params = space.params(study.trials().point(trial));
    CHECK(params["momentum"].is_nil() == (params["optim"] == Value("a")));
    const bool best = params["optim"] == Value("b") && params["momentum"] == Value(3);
    if (i >= 90 && best) ++good;
    study.tell(trial, {(best ? 0.0 : 1.0) + std::abs(std::log10(params["lr"].number()) + 2)});
  }
  CHECK(good > 15);  // of the last 30; 2.5 by chance
}

TEST_CASE("TPE goes on alike when it is told the same again") {
  const Space space = parse_space(conditional);
  const auto value = [](std::span<const double> point) {
    return std::log(point[0]) + (std::isnan(point[1]) ? 1 : point[1]);
  };
  Study whole(space, parse_sampler(R"({"@": "sampler.tpe"})", space), {});
  const auto run = [&](Study& study, int trials) {
    std::string text;
    for (int i = 0; i < trials; ++i) {
      const std::int64_t trial = *study.ask().trial;
      text += to_json(Value(space.params(study.trials().point(trial))));
      study.tell(trial, {value(study.trials().point(trial))});
    }
    return text;
  };
  run(whole, 30);
  Study again(space, parse_sampler(R"({"@": "sampler.tpe"})", space), {});
  run(again, 30);
  CHECK(run(whole, 20) == run(again, 20));
}

TEST_CASE("CMA-ES goes to the bottom of a turned ellipsoid, whatever the direction and the order of ends") {
  const Space space = parse_space(
      R"({"a": {"@": "space.uniform", "low": -4, "high": 6}, "b": {"@": "space.uniform", "low": -4, "high": 6},
                                      "c": {"@": "space.log", "low": 1e-4, "high": 1}})");
  const auto value = [](std::span<const double> p) {
    const double c = std::log10(p[2]) + 2;
    return std::pow(p[0] + p[1] - 3, 2) + 100 * std::pow(p[0] - p[1], 2) + c * c;
  };
  for (const std::size_t workers : {1U, 4U}) {
    Study study(space, parse_sampler(R"({"@": "sampler.cma_es"})", space, 3), {.maximize = {true}});
    std::vector<std::int64_t> open;
    for (int i = 0; i < 700; ++i) {
      open.push_back(*study.ask().trial);
      if (open.size() < workers) continue;
      study.tell(open.front(), {-value(study.trials().point(open.front()))});
      open.erase(open.begin());
    }
    CHECK(study.trials().value(*study.best()) > -1e-6);
  }
}

TEST_CASE("CMA-ES finds whole numbers too, and leaves choices to chance") {
  const Space space = parse_space(
      R"({"n": {"@": "space.int", "low": 0, "high": 9}, "m": {"@": "space.int", "low": 1, "high": 64, "log": true},
                                      "x": {"@": "space.uniform", "low": 0, "high": 1},
                                      "c": {"@": "space.choice", "values": ["a", "b"]}})");
  Study study(space, parse_sampler(R"({"@": "sampler.cma_es"})", space, 1), {});
  int chosen = 0;
  for (int i = 0; i < 400; ++i) {
    const std::int64_t trial = *study.ask().trial;
    const Value params = space.params(study.trials().point(trial));
    chosen += params["c"] == Value("a") ? 1 : 0;
    study.tell(trial, {std::abs(params["n"].number() - 9) + std::abs(std::log2(params["m"].number()) - 5) +
                       params["x"].number()});
  }
  const Value best = space.params(study.trials().point(*study.best()));
  CHECK(best["n"] == Value(9));
  CHECK(best["m"] == Value(32));
  CHECK(best["x"].number() < 0.01);
  CHECK(chosen > 150);
  CHECK(chosen < 250);
  const Space choices = parse_space(R"({"c": {"@": "space.choice", "values": ["a", "b"]}})");
  CHECK_THROWS_WITH(parse_sampler(R"({"@": "sampler.cma_es"})", choices),
                    Catch::Contains("a number that is active in every trial"));
}

TEST_CASE("a Gaussian process finds the bottom in few trials, with choices and whole numbers too") {
  CHECK(median_of(R"({"@": "sampler.gp"})", 40) - 0.397887 < 0.02);

  const Space space = parse_space(
      R"({"c": {"@": "space.choice", "values": ["a", "b", "c"]}, "n": {"@": "space.int", "low": 1, "high": 30},
                                      "x": {"@": "space.log", "low": 1e-3, "high": 10}})");
  Study study(space, parse_sampler(R"({"@": "sampler.gp"})", space, 2), {.maximize = {true}});
  std::vector<std::int64_t> open;
  for (int i = 0; i < 60; ++i) {
    open.push_back(*study.ask().trial);
    if (open.size() < 3) continue;  // three at a time
    const Value params = space.params(study.trials().point(open.front()));
    const double far = std::abs(params["n"].number() - 21) / 10 + std::pow(std::log10(params["x"].number()), 2);
    study.tell(open.front(), {-(far + (params["c"] == Value("b") ? 0 : 0.5))});
    open.erase(open.begin());
  }
  const Value best = space.params(study.trials().point(*study.best()));
  CHECK(best["c"] == Value("b"));
  CHECK(std::abs(best["n"].number() - 21) <= 1);
  CHECK(study.trials().value(*study.best()) > -0.12);
}

TEST_CASE("a Gaussian process goes to the edge of what is allowed") {
  const Space space = parse_space(
      R"({"x": {"@": "space.uniform", "low": -2, "high": 2}, "y": {"@": "space.uniform", "low": -2, "high": 2}})");
  Study study(space, parse_sampler(R"({"@": "sampler.gp"})", space),
              {.allowed = [](auto p) { return p[0] + p[1] > 1; }});
  for (int i = 0; i < 40; ++i) {
    const std::int64_t trial = *study.ask().trial;
    const auto point = study.trials().point(trial);
    study.tell(trial, {point[0] * point[0] + point[1] * point[1]});
  }
  CHECK(study.trials().value(*study.best()) < 0.55);  // 0.5 at (½, ½)
}

TEST_CASE("NSGA-II changes one of the parameters that are searched, however many are fixed") {
  const Space space = parse_space(R"({"x": {"@": "space.uniform", "low": 0, "high": 1}, "b": 1, "c": 2, "d": 3, "e": 4,
                                      "f": 5, "g": 6, "h": 7, "i": 8, "j": 9})");
  Study study(space, parse_sampler(R"({"@": "sampler.nsga2", "population": 8})", space), {});
  PointSet seen;
  for (int i = 0; i < 60; ++i) {
    const std::int64_t trial = *study.ask().trial;
    const auto point = study.trials().point(trial);
    CHECK(seen.emplace(point.begin(), point.end()).second);
    study.tell(trial, {point.back()});
  }
}

TEST_CASE("trials under way keep TPE from asking for the same point again") {
  const Space space = parse_space(R"({"x": {"@": "space.uniform", "low": 0, "high": 1}})");
  Study study(space, parse_sampler(R"({"@": "sampler.tpe"})", space), {});
  for (int i = 0; i < 40; ++i) {
    const std::int64_t trial = *study.ask().trial;
    const double x = study.trials().point(trial)[0];
    study.tell(trial, {(x - 0.5) * (x - 0.5)});
  }
  const auto spread = [&](bool at_once) {
    std::vector<double> points;
    std::vector<std::int64_t> open;
    for (int i = 0; i < 12; ++i) {
      const std::int64_t trial = *study.ask().trial;
      points.push_back(study.trials().point(trial)[0]);
      if (at_once)
        open.push_back(trial);
      else
        study.fail(trial);
    }
    for (const std::int64_t trial : open) study.fail(trial);
    return *std::max_element(points.begin(), points.end()) - *std::min_element(points.begin(), points.end());
  };
  const double apart = spread(false);
  CHECK(spread(true) > 2 * apart);
}

}  // namespace trainlab::samplers_test
