// The progress reporters, on a terminal and a clock that the test holds.
#include <catch2/catch.hpp>

#include <cmath>
#include <stdexcept>

#include "journal/reporters.h"

namespace trainlab::progress_test {

namespace {

struct Screen {
  double now = 100;
  int columns = 120;
  int clock_reads = 0;
  int losses_read = 0;
  std::string raw;                 // everything written
  std::vector<std::string> drawn;  // texts of bars
  std::string line;                // what stands on the current line
  std::vector<std::string> said;
  bool dirty_when_said = false;

  std::unique_ptr<Observer> bar() {
    Terminal terminal;
    terminal.columns = [this] { return columns; };
    terminal.seconds = [this] {
      ++clock_reads;
      return now;
    };
    terminal.write = [this](std::string_view text) {
      raw += text;
      if (text == "\r\x1b[K") {
        line.clear();
        return;
      }
      REQUIRE(text.front() == '\r');
      REQUIRE(text.ends_with("\x1b[K\r"));
      line = text.substr(1, text.size() - 5);
      drawn.push_back(line);
    };
    return progress_bar(
        std::move(terminal), [this] { return ++losses_read, 0.41234; },
        [this](const std::string& text) {
          dirty_when_said |= !line.empty();
          said.push_back(text);
        });
  }
};

FitView fit(std::int64_t total = 920, std::int64_t first = 0) {
  FitView view;
  view.name = "digits";
  view.total_steps = total;
  view.steps_per_epoch = 23;
  view.batch = 64;
  view.first_step = first;
  return view;
}

StepView at_step(std::int64_t step) {
  StepView view;
  view.step = step;
  view.epoch = (step - 1) / 23;
  view.samples = 64 * step;
  view.rate = 0.0029;
  return view;
}

ValidationView validation() {
  ValidationView view;
  view.step = 69;
  view.epoch = 3;
  view.samples = 4416;
  view.seconds = 0.359;
  view.rate = 0.0029;
  view.best = true;
  view.metrics = {{"val.accuracy", 0.8912}, {"val.loss", 0.39812}, {"train.loss", 0.41234}};
  return view;
}

// Steps of a fixed length; returns how many of them the reporter wanted.
int walk(Screen& screen, Observer& bar, std::int64_t from, std::int64_t to, double step_seconds) {
  int wanted = 0;
  for (std::int64_t step = from; step <= to; ++step) {
    screen.now += step_seconds;
    if (!bar.wants_step(step)) continue;
    ++wanted;
    bar.stepped(at_step(step));
  }
  return wanted;
}

}  // namespace

TEST_CASE("elsewhere than on a terminal there is a line per validation and nothing for steps of short epochs") {
  std::vector<std::string> lines;
  const auto loss = []() -> double { throw std::logic_error("the loss was read"); };
  Screen clock;
  const auto reporter =
      progress_lines([&] { return clock.now; }, loss, [&](const std::string& line) { lines.push_back(line); });
  reporter->started(fit());
  walk(clock, *reporter, 1, 69, 0.1);
  reporter->validated(validation());
  auto later = validation();
  later.step = 92;
  later.epoch = 4;
  later.samples += 1500;
  later.seconds += 2;
  later.best = false;
  later.metrics = {{"val.loss", std::nan("")},
                   {"train.loss", 12345.6},
                   {"temperature", 1e-7},
                   {"test.loss", 0.0},
                   {"val.accuracy", 1.0}};
  reporter->validated(later);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] ==
        "epoch 3  step 69  train.loss 0.412  val.loss 0.398  val.accuracy 0.891  lr 2.9e-03  12.3k samples/s  best");
  CHECK(lines[1] ==
        "epoch 4  step 92  train.loss 12346  val.loss nan  val.accuracy 1.00  test.loss 0  temperature 1.00e-07  lr "
        "2.9e-03  750 samples/s");
}

TEST_CASE("the forecast ends a line, at most once in a second of training, and the bar where there is room") {
  int asked = 0;
  std::vector<std::string> lines;
  const auto with_forecast = [&](double seconds, std::int64_t step) {
    auto view = validation();
    view.seconds = seconds;
    view.step = step;
    view.forecast = [&] {
      ++asked;
      return Forecast{.metric = "val.loss", .value = 0.312, .low = 0.29, .high = 0.33, .at = 920, .rate_falls = false};
    };
    return view;
  };
  const auto reporter =
      progress_lines([] { return 0.0; }, [] { return 0.4; }, [&](const std::string& line) { lines.push_back(line); });
  reporter->started(fit());
  for (const double seconds : {0.9, 1.2, 1.9, 2.3}) reporter->validated(with_forecast(seconds, 69));
  reporter->validated(with_forecast(9, 920));  // the end, where there is nothing to forecast
  REQUIRE(lines.size() == 5);
  const auto has = [&](std::size_t i) { return lines[i].ends_with("  forecast val.loss 0.312 (0.29 to 0.33)"); };
  CHECK_FALSE(has(0));
  CHECK(has(1));
  CHECK_FALSE(has(2));
  CHECK(has(3));
  CHECK_FALSE(has(4));
  CHECK(asked == 3);

  for (const int columns : {200, 100}) {
    Screen screen;
    screen.columns = columns;
    const auto bar = screen.bar();
    bar->started(fit());
    walk(screen, *bar, 1, 60, 0.05);
    bar->validated(with_forecast(2, 60));
    walk(screen, *bar, 61, 90, 0.05);
    CHECK((screen.line.find("forecast val.loss") != std::string::npos) == (columns == 200));
    CHECK(screen.line.find("ETA") != std::string::npos);
  }
}

TEST_CASE("elsewhere than on a terminal a line is said where nothing was said for 30 s") {
  Screen screen;
  const auto reporter = progress_lines([&] { return screen.now; }, [] { return 0.41234; },
                                       [&](const std::string& line) { screen.said.push_back(line); });
  auto longer = fit(920);
  longer.steps_per_epoch = 460;
  reporter->started(longer);
  const int wanted = walk(screen, *reporter, 1, 100, 1);
  CHECK(wanted < 60);  // the clock is read for some steps only
  REQUIRE(screen.said.size() == 3);
  CHECK(screen.said[0].starts_with("epoch 2/2  step 3"));  // at_step() counts epochs of 23 steps
  CHECK_THAT(screen.said[0], Catch::EndsWith("/920  3%  train.loss 0.412  lr 2.9e-03  64 samples/s  ETA 14:50") ||
                                 Catch::Contains("  train.loss 0.412  lr 2.9e-03  64 samples/s  ETA 14:"));
  // What a validation says counts too.
  reporter->validated(validation());
  REQUIRE(screen.said.size() == 4);
  walk(screen, *reporter, 101, 125, 1);
  CHECK(screen.said.size() == 4);
  walk(screen, *reporter, 126, 140, 1);
  CHECK(screen.said.size() == 5);
}

TEST_CASE("a task, which has no loss, rate and length, still says that it goes on") {
  Screen screen;
  const auto reporter = progress_lines([&] { return screen.now; }, nullptr,
                                       [&](const std::string& line) { screen.said.push_back(line); });
  reporter->started({.name = "task", .monitor = ""});
  for (std::int64_t step = 1; step <= 40; ++step) {
    screen.now += 1;
    if (reporter->wants_step(step)) reporter->stepped({.step = step, .rate = std::nan("")});
  }
  REQUIRE(screen.said.size() == 1);
  CHECK(screen.said[0].starts_with("step 3"));
}

TEST_CASE("under a budget of time the bar shows the share that is used, and what is left of the budget") {
  Screen screen;
  const auto bar = screen.bar();
  auto view = fit(0);
  view.time_budget = 100;
  view.seconds_before = 20;
  bar->started(view);
  walk(screen, *bar, 1, 300, 0.1);  // 30 s
  CHECK_THAT(screen.drawn.back(), Catch::Contains("]  50%") || Catch::Contains("]  49%"));
  CHECK_THAT(screen.drawn.back(), Catch::Contains("ETA 0:50") || Catch::Contains("ETA 0:51"));
}

TEST_CASE("the first line after a resume claims no speed that was not measured") {
  std::vector<std::string> lines;
  const auto reporter = progress_reporter(false, nullptr, [&](const std::string& line) { lines.push_back(line); });
  reporter->started(fit(920, 46));
  reporter->validated(validation());
  CHECK_THAT(lines.at(0), !Catch::Contains("samples/s"));
}

TEST_CASE("the bar shows where the fit stands") {
  Screen screen;
  const auto bar = screen.bar();
  bar->started(fit());
  walk(screen, *bar, 1, 460, 0.01);
  REQUIRE_FALSE(screen.drawn.empty());
  CHECK_THAT(screen.drawn.back(), Catch::StartsWith("digits  epoch 20/40  step 4") && Catch::Contains("/920  [=") &&
                                      Catch::Contains("]  50%  loss 0.412  lr 2.9e-03  6.40k samples/s  ETA 0:05"));
  CHECK(screen.drawn.back().size() < 120);
}

TEST_CASE("the bar is drawn at most ten times a second, and the clock is hardly read") {
  for (const double step_seconds : {20e-6, 300e-6, 5e-3, 0.05, 0.3}) {
    INFO(step_seconds);
    Screen screen;
    const auto bar = screen.bar();
    bar->started(fit(1000000));
    const auto steps = static_cast<std::int64_t>(std::ceil(20 / step_seconds));
    const int wanted = walk(screen, *bar, 1, steps, step_seconds);
    const double seconds = static_cast<double>(steps) * step_seconds;
    CHECK(static_cast<double>(screen.drawn.size()) <= 10 * seconds + 1);
    CHECK(static_cast<double>(screen.drawn.size()) >= 0.6 * std::min(10 * seconds, static_cast<double>(steps)));
    CHECK(screen.losses_read == static_cast<int>(screen.drawn.size()));
    CHECK(screen.clock_reads == wanted + 1);
    CHECK(wanted <= static_cast<int>(60 * seconds) + 30);  // a few looks between two drawings, whatever the speed
  }
}

TEST_CASE("steps that become slow are noticed") {
  Screen screen;
  const auto bar = screen.bar();
  bar->started(fit(10000000));
  walk(screen, *bar, 1, 100000, 20e-6);
  const std::size_t before = screen.drawn.size();
  walk(screen, *bar, 100001, 102600, 0.01);  // 26 s; a quarter of a drawing at the old speed is 12.5 s of them
  CHECK(screen.drawn.size() > before + 1);
}

TEST_CASE("the bar makes way for a line and comes back below it") {
  Screen screen;
  const auto bar = screen.bar();
  bar->started(fit());
  walk(screen, *bar, 1, 69, 0.01);
  REQUIRE_FALSE(screen.line.empty());
  bar->validated(validation());
  CHECK_FALSE(screen.dirty_when_said);
  REQUIRE(screen.said.size() == 1);
  CHECK_THAT(screen.said[0], Catch::StartsWith("epoch 3  step 69"));
  CHECK_THAT(screen.line, Catch::Contains("epoch 3/40") && Catch::Contains("step 69/920"));
  bar->finished(Value());
  CHECK(screen.line.empty());
}

TEST_CASE("the bar goes on with epochs that are too short for a drawing") {
  Screen screen;
  const auto bar = screen.bar();
  bar->started(fit());
  walk(screen, *bar, 1, 20, 0.01);
  CHECK_THAT(screen.line, Catch::Contains("epoch 1/40"));
  for (std::int64_t epoch = 1; epoch <= 40; ++epoch) {
    walk(screen, *bar, 23 * (epoch - 1) + 1, 23 * epoch, 1e-6);
    ValidationView view = validation();
    view.epoch = epoch;
    view.step = 23 * epoch;
    bar->validated(view);
    const std::string shown = "epoch " + std::to_string(epoch) + "/40  step " + std::to_string(view.step) + "/920";
    CHECK_THAT(screen.line, Catch::Contains(shown));
  }
}

TEST_CASE("a bar whose fit failed does not stay on the terminal") {
  Screen screen;
  {
    const auto bar = screen.bar();
    bar->started(fit());
    walk(screen, *bar, 1, 69, 0.01);
    REQUIRE_FALSE(screen.line.empty());
  }
  CHECK(screen.line.empty());
}

TEST_CASE("what does not fit into the width is left out, least important first") {
  for (int columns = 0; columns <= 130; ++columns) {
    Screen screen;
    screen.columns = columns;
    const auto bar = screen.bar();
    bar->started(fit());
    walk(screen, *bar, 1, 100, 0.01);
    INFO(columns << " " << screen.line);
    CHECK(static_cast<int>(screen.line.size()) <= std::max(0, columns - 1));
    if (columns >= 20) CHECK_THAT(screen.line, Catch::Contains("%") && Catch::Contains("loss 0.412"));
    if (columns >= 80)
      CHECK_THAT(screen.line, Catch::Contains("ETA") && Catch::Contains("epoch") && Catch::Contains("  [") &&
                                  Catch::Contains("samples/s"));
  }
}

TEST_CASE("a fit of unknown length shows no percentage and no ETA") {
  Screen screen;
  const auto bar = screen.bar();
  bar->started(fit(0));
  walk(screen, *bar, 1, 100, 0.01);
  CHECK_THAT(screen.line, Catch::Contains("epoch 5  ") && Catch::Contains("samples/s") && !Catch::Contains("%") &&
                              !Catch::Contains("ETA"));
}

TEST_CASE("a resumed fit is timed from where it went on") {
  Screen screen;
  const auto bar = screen.bar();
  bar->started(fit(920, 460));
  walk(screen, *bar, 461, 660, 0.01);
  CHECK_THAT(screen.line, Catch::Contains("6.40k samples/s  ETA 0:03"));
}

}  // namespace trainlab::progress_test
