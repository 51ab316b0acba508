// Two stages beside each other: the turns, the words, and what a measurement of two fits has. Which of two is faster in
// truth is a question for a quiet machine.
#include <catch2/catch.hpp>

#include <algorithm>

#include "profile/beside.h"
#include "steps/in_turns.h"
#include "support/fit_support.h"
#include "support/overflowing_loss.h"

namespace trainlab::beside_test {

using namespace test;

namespace {

StagesBeside with_ratio(double low, double median, double high) {
  return {.a = {.recipe = "a.lua", .stage = "f", .kind = "fit", .step = {.median = 1e-3, .low = 1e-3, .high = 1e-3}},
          .b = {.recipe = "b.lua", .stage = "f", .kind = "fit", .step = {.median = 2e-3, .low = 2e-3, .high = 2e-3}},
          .pairs = 8,
          .ratio = {.median = median, .low = low, .high = high}};
}

const PartBeside* find(const std::vector<PartBeside>& parts, const std::string& name) {
  const auto found = std::ranges::find(parts, name, &PartBeside::name);
  return found == parts.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("turns are A B B A, and pairs are neighbours") {
  std::string order;
  int count = 0;
  std::vector<std::pair<int, int>> pairs;
  in_turns(
      2, [&] { return order += 'A', ++count; }, [&] { return order += 'B', ++count; },
      [&](int a, int b) { pairs.emplace_back(a, b); });
  CHECK(order == "ABBAABBA");
  CHECK(pairs == std::vector<std::pair<int, int>>{{1, 2}, {4, 3}, {5, 6}, {8, 7}});
}

TEST_CASE("the word for two stages follows from the interval of their ratio") {
  CHECK(with_ratio(1.01, 1.5, 2).verdict() == "slower");
  CHECK(with_ratio(0.5, 0.7, 0.99).verdict() == "faster");
  CHECK(with_ratio(0.9, 1.2, 1.5).verdict() == "unclear");
  CHECK(with_ratio(0.99, 1, 1.01).verdict() == "equal");
  CHECK(with_ratio(1.001, 1.01, 1.015).verdict() == "equal");
}

TEST_CASE("the largest difference is one that is certain, and of the verdict's direction") {
  const auto part = [](const char* name, double low, double median, double high) {
    return PartBeside{
        .name = name, .a = 1, .b = 2, .difference = MedianInterval{.median = median, .low = low, .high = high}};
  };
  std::vector<PartBeside> parts{part("forward", 1, 2, 3), part("backward", -5, -4, -3), part("input", -1, 9, 20)};
  parts.push_back({.name = "model[9].ReLU", .a = 50});
  CHECK(largest_difference(parts, false)->name == "backward");
  CHECK(largest_difference(parts, true)->name == "forward");
  CHECK(largest_difference({part("input", -1, 9, 20)}, true) == nullptr);
  CHECK(largest_difference({part("input", 1, 9, 20)}, false) == nullptr);
  CHECK(largest_difference({}, true) == nullptr);

  StagesBeside stages = with_ratio(1.9, 2, 2.1);
  stages.parts = {part("forward", 0.5e-3, 0.9e-3, 1e-3), part("input", -1e-3, 0, 1e-3)};
  const std::string text = beside_text(stages);
  CHECK(
      text.starts_with("slower: a step of B takes 2.000 (1.900 to 2.100) times as long as one of A\n"
                       "  The largest difference lies in forward: B takes 900 µs more; a whole step, 1 ms more.\n"));
  stages.ratio = {.median = 1.1, .low = 0.9, .high = 1.3};
  CHECK(beside_text(stages).find("largest difference") == std::string::npos);
  const Value value = beside_value(stages);
  CHECK(value["parts"].list()[0]["difference"]["median"] == Value(0.9e-3));
  CHECK(value["speed_ratio"].is_nil());
}

TEST_CASE("where steps have other numbers of samples, the time for a sample decides, and the words agree with it") {
  StagesBeside stages = with_ratio(1.7, 1.8, 1.9);
  CHECK(stages.verdict() == "slower");
  stages.a.samples = 16;
  stages.b.samples = 64;
  CHECK(stages.verdict() == "faster");
  const auto part = [](const char* name, double difference, double for_samples) {
    return PartBeside{.name = name,
                      .a = 1e-3,
                      .b = 1e-3 + difference,
                      .difference = median_interval(std::vector(8, difference)),
                      .for_samples = median_interval(std::vector(8, for_samples))};
  };
  stages.parts = {part("forward", 0.9e-3, -0.2e-3), part("recipe", 5e-3, 0.5e-3)};
  stages.layers = {part("loss", 0.1e-3, -0.1e-3)};
  CHECK(beside_text(stages).starts_with(
      "faster: a step of B takes 1.800 (1.700 to 1.900) times as long as one of A and has 4 times as many samples; a "
      "sample takes 0.450 (0.425 to 0.475) times as long\n"
      "  The largest difference lies in forward: B takes 200 µs less for as many samples as a step of A has; a whole "
      "step, 550 µs less.\n"
      "  Among the layers and other rows of both, loss differs most: B takes 100 µs less for as many samples as a step "
      "of A has.\n"));
  CHECK(stages.speed()->median == Approx(1 / 0.45));
  stages.b.samples = 16;  // as many
  CHECK(stages.verdict() == "slower");
  CHECK(stages.speed()->median == Approx(1 / 1.8));
  stages.b.samples = 0;  // unknown
  CHECK(stages.verdict() == "slower");
  CHECK_FALSE(stages.differ_in_samples());
  CHECK_FALSE(stages.speed());
}

TEST_CASE("a side that takes no step is told with the reason") {
  const auto stops = native([](std::span<const Argument> arguments) -> std::vector<Argument> {
    object_at<RunHandle>(arguments, 0).stop("enough");
    return {};
  });
  const RunSettings settings = cpu_settings();
  const Options a = parse_options(digits_fit(R"(, "steps": 60)"));
  const Options b =
      parse_options(digits_fit(R"(, "steps": 60, "on": {"start": {"@": "function", "index": 0}})"), {stops});
  CHECK_THROWS_WITH(measure_beside({.stage = a, .settings = settings, .recipe = "a.lua"},
                                   {.stage = b, .settings = settings, .recipe = "b.lua"}, {.seconds = 1}),
                    Catch::Contains("it ends before its first step"));
}

TEST_CASE("two fits are measured in turns: pairs, parts of a step, layers by their paths") {
  const RunSettings settings = cpu_settings();
  const Options a = parse_options(digits_fit(R"(, "steps": 60)"));
  const Options b = parse_options(digits_fit(R"(, "steps": 60, "accumulate": 2)"));
  const StagesBeside stages =
      measure_beside({.stage = a, .settings = settings, .recipe = "a.lua"},
                     {.stage = b, .settings = settings, .recipe = "b.lua", .note = "twice"}, {.seconds = 1.6});
  CHECK(stages.pairs == 8);
  CHECK(stages.ratio.low <= stages.ratio.median);
  CHECK(stages.ratio.median <= stages.ratio.high);
  CHECK(stages.ratio.median > 0);
  REQUIRE(stages.speed());
  CHECK(stages.missing == std::vector<std::string>{});
  for (const char* name : {"forward", "backward", "optimizer", "input"}) {
    const PartBeside* part = find(stages.parts, name);
    REQUIRE(part);
    CHECK(*part->a > 0);
    CHECK(*part->b > 0);
  }
  CHECK_FALSE(find(stages.parts, "launch_gap"));
  double sum = 0;
  for (const PartBeside& part : stages.parts) sum += *part.a;
  CHECK(sum > 0.5 * stages.a.step.median);
  CHECK(std::ranges::all_of(stages.layers, [](const PartBeside& row) { return row.difference.has_value(); }));
  // B's steps have nearly twice as many samples: what B takes for as many as A's step is less than for its own step.
  REQUIRE(stages.differ_in_samples());
  for (const PartBeside& one : stages.layers) CHECK(one.for_samples->median <= one.difference->median);
  CHECK(std::ranges::any_of(stages.layers, [](const PartBeside& row) { return row.name.ends_with(".Linear"); }));
}

TEST_CASE("two stages whose measurement is stopped have what is known by then, if there are enough pairs") {
  const RunSettings settings = cpu_settings();
  const Options fit = parse_options(digits_fit(R"(, "steps": 1000000)"));  // so long that each short run is one of it
  const auto stopped_in = [&](int run) {  // a run of A: the first is before the pairs, and each pair has another one
    int runs = 0;
    const auto ran = [&] {
      if (++runs == run) request_stop();
    };
    return measure_beside({.stage = fit, .settings = settings, .recipe = "a.lua", .ran = ran},
                          {.stage = fit, .settings = settings, .recipe = "b.lua"}, {.seconds = 1.6});
  };
  const StagesBeside stages = stopped_in(1 + 7);
  clear_stop_request();
  CHECK(stages.pairs == 6);
  CHECK(stages.ratio.median > 0);
  CHECK(stages.cores["usable"].number() > 0);
  CHECK(stages.layers.empty());
  CHECK(stages.missing == std::vector<std::string>{"layers: asked to stop before they were measured"});
  CHECK_THROWS_WITH(stopped_in(1 + 3), Catch::Contains("asked to stop"));
  clear_stop_request();
}

TEST_CASE("two stages that had to share the cores with other work say so") {
  StagesBeside stages = with_ratio(0.99, 1, 1.01);
  const auto cores = [](double others) { return Value::Map{{"busy", 1.0}, {"others", others}, {"usable", 2}}; };
  stages.cores = cores(1);
  CHECK_THAT(beside_text(stages), Catch::Contains("\ncores            other work had 1.0 of 2 cores meanwhile: "));
  stages.cores = cores(0.1);
  CHECK_THAT(beside_text(stages), !Catch::Contains("other work"));
}

TEST_CASE("an error of one of two stages says whose it is") {
  const RunSettings settings = cpu_settings();
  const Options good = parse_options(digits_fit(R"(, "steps": 60)"));
  std::string text = digits_fit(R"(, "steps": 60)");
  text.replace(text.find("0.005"), 5, "1e300");
  const Options diverges = parse_options(text);
  try {
    measure_beside({.stage = good, .settings = settings, .recipe = "a.lua"},
                   {.stage = diverges, .settings = settings, .recipe = "b.lua", .note = "with lr=1e300"},
                   {.seconds = 1.6});
    FAIL("it was measured");
  } catch (const Error& error) {
    CHECK_THAT(error.what(),
               Catch::StartsWith("b.lua (with lr=1e300): the stage failed while its steps were measured"));
  }
}

}  // namespace trainlab::beside_test
