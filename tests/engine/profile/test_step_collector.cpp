// A StepCollector adds up spans by a clock that the tests move.
#include <catch2/catch.hpp>

#include <ATen/ops/add.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>

#include <numeric>
#include <stdexcept>

#include "core/phase.h"
#include "core/trace.h"
#include "steps/step_collector.h"
#include "train/loop_observer.h"

namespace trainlab::step_collector_test {

namespace {

double present = 0;
double present_time() { return present; }

void pass(double seconds) { present += seconds; }

void work(Phase phase, double seconds, const char* name = "") {
  const Span span(phase, name);
  pass(seconds);
}

// A step of 15 s, of which the layer inside the forward pass is a part.
void step(double longer = 0) {
  const Span whole(Phase::step);
  pass(1);
  work(Phase::fetch, 2);
  {
    const Span forward(Phase::forward);
    pass(1);
    work(Phase::layer, 2, "model[1].Linear");
  }
  work(Phase::backward, 4 + longer);
  {
    const Span optimizer(Phase::optimizer);
    pass(1);
    work(Phase::forward, 3);  // an evaluation that the optimizer asks for
  }
  work(Phase::callback, 1, "step");
}

double sum(const PhaseSeconds& seconds) { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

// Without cold steps, a block for each step.
StepLimits each_step() { return {.seconds = 1e9, .cold = 0, .counted = 0, .block = 1e-9}; }

}  // namespace

TEST_CASE("self times of the phases add up to the step") {
  StepCollector collector(each_step(), present_time);
  collector.run_began();
  const Listening listening(collector);
  for (int i = 0; i < 4; ++i) step();
  const StepFigures figures = collector.figures();
  CHECK(figures.steps == 4);
  CHECK(figures.mean == Approx(15));
  CHECK(sum(figures.self) == Approx(figures.mean));
  CHECK(figures.per_step(Phase::step) == Approx(1));
  CHECK(figures.per_step(Phase::fetch) == Approx(2));
  CHECK(figures.per_step(Phase::forward) == Approx(6));
  CHECK(figures.per_step(Phase::layer) == 0);
  CHECK(figures.per_step(Phase::backward) == Approx(4));
  CHECK(figures.per_step(Phase::optimizer) == Approx(1));
  CHECK(figures.per_step(Phase::callback) == Approx(1));
  CHECK(figures.longest_function.path == "on.step");
  CHECK(figures.longest_function.seconds == Approx(1));
  CHECK(figures.step.median == Approx(15));
}

TEST_CASE("what comes between steps is no part of them") {
  StepCollector collector(each_step(), present_time);
  collector.run_began();
  const Listening listening(collector);
  for (int i = 0; i < 4; ++i) {
    step();
    {
      const Span validation(Phase::validate, "val");
      work(Phase::fetch, 3);
      work(Phase::forward, 5);
      work(Phase::metrics, 2);
    }
    work(Phase::callback, 7, "validate");
    {
      const Span checkpoint(Phase::commit);
      pass(8);
      work(Phase::callback, 3, "checkpoint");
    }
    pass(0.5);
  }
  work(Phase::validate, 1000, "test");
  const StepFigures figures = collector.figures();
  CHECK(figures.mean == Approx(15));
  CHECK(figures.validation.count == 4);
  CHECK(figures.validation.seconds == Approx(10.375));  // three have the half second of the loop after them
  CHECK(figures.validation_metrics == Approx(2));       // of each
  CHECK(figures.validation_functions == Approx(7));
  CHECK(figures.commit.count == 4);
  CHECK(figures.commit.seconds == Approx(11));
  CHECK(figures.commit_functions == Approx(3));
  CHECK(figures.commits_timed == 3);
  // The time after the last step belongs to a step that did not come.
  CHECK(figures.longest_function.path == "on.validate");
  CHECK(figures.longest_function.seconds == Approx(7 * 3.0 / 4));
  CHECK(figures.callbacks == Approx(7 * 3.0 / 4));
  CHECK(figures.between == 0);
}

TEST_CASE("the longest function has the time that the step's figures give to functions of the recipe") {
  const auto longest_of = [](auto&& steps) {
    StepCollector collector(each_step(), present_time);
    collector.run_began();
    const Listening listening(collector);
    for (int i = 0; i < 4; ++i) steps(collector);
    return collector.figures().longest_function;
  };
  const auto between = longest_of([](StepCollector&) {
    const Span function(Phase::callback, "epoch");
    pass(1);
    work(Phase::forward, 30);  // a model that the function calls
  });
  CHECK(between.path.empty());  // no step came
  const auto before_a_step = longest_of([](StepCollector&) {
    step();
    const Span function(Phase::callback, "epoch");
    pass(1);
    work(Phase::forward, 30);
  });
  CHECK(before_a_step.path == "on.epoch");
  CHECK(before_a_step.seconds == Approx(31 * 3.0 / 4));
  const auto in_an_evaluation = longest_of([](StepCollector&) {
    {
      const Span validation(Phase::validate, "val");
      work(Phase::callback, 50, "loss");
    }
    step();
  });
  CHECK(in_an_evaluation.path == "on.step");
  const auto of_a_task = longest_of([](StepCollector& collector) {
    collector.step_began();
    pass(3);
    work(Phase::forward, 5);
    work(Phase::callback, 2, "transform");
    collector.step_ended();
  });
  CHECK(of_a_task.path == "own step");
  CHECK(of_a_task.seconds == Approx(3));
}

TEST_CASE("the time of a validation does not depend on their number") {
  StepLimits limits = each_step();
  limits.precision = -1;  // equal steps would end the timing early
  StepCollector collector(limits, present_time);
  collector.run_began();
  const Listening listening(collector);
  for (int i = 0; i < 1000; ++i) {
    step();
    work(Phase::validate, 10, "val");
    work(Phase::commit, 4);
    pass(1);
  }
  step();
  const StepFigures figures = collector.figures();
  CHECK(figures.validation.count == 1000);
  CHECK(figures.validation.seconds == Approx(11));  // with the second of the loop after each
  CHECK(figures.commit.count == 1000);
  CHECK(figures.commit.seconds == Approx(4));
}

TEST_CASE("where the last step of an epoch is smaller, a block has whole epochs") {
  const auto median_of = [](std::int64_t cycle, int steps) {
    StepLimits limits = each_step();
    limits.cycle = cycle;
    StepCollector collector(limits, present_time);
    collector.run_began();
    const Listening listening(collector);
    for (int i = 0; i < steps; ++i) step(i % 3 == 1 ? 0 : 30);  // one of three steps takes 15 s, the others 45 s
    return collector.figures().step.median;
  };
  CHECK(median_of(1, 12) == Approx(45));
  CHECK(median_of(3, 12) == Approx(35));
  CHECK(median_of(3, 14) == Approx(35));  // the rest is no block
  CHECK(median_of(3, 2) == Approx(30));   // less than an epoch
}

TEST_CASE("the first steps of each run are dropped") {
  StepCollector collector({.seconds = 1e9, .cold = 2, .counted = 0, .block = 1e-9}, present_time);
  const Listening listening(collector);
  for (int run = 0; run < 2; ++run) {
    collector.run_began();
    for (int i = 0; i < 5; ++i) step(i < 2 ? 100 : 0);
  }
  const StepFigures figures = collector.figures();
  CHECK(figures.steps == 6);
  CHECK(figures.cold == 4);
  CHECK(figures.mean == Approx(15));
}

TEST_CASE("equal steps end the timing early, and the next step of a fit does not begin") {
  StepCollector collector({.seconds = 1e9, .cold = 0, .counted = 2, .block = 1e-9}, present_time);
  collector.run_began();
  const Listening listening(collector);
  int steps = 0;
  CHECK_THROWS_AS(
      [&] {
        for (;; ++steps) step();
      }(),
      SeenEnough);
  CHECK(steps == 22);  // 20 blocks and two steps whose operators are counted
  CHECK(collector.is_done());
  CHECK(collector.figures().is_precise);
}

TEST_CASE("steps that differ are timed until the seconds are up") {
  StepCollector collector({.seconds = 3000, .cold = 0, .counted = 1, .block = 1e-9}, present_time);
  collector.run_began();
  const Listening listening(collector);
  int steps = 0;
  CHECK_THROWS_AS(
      [&] {
        for (;; ++steps) step(steps % 2 == 0 ? 30 : 0);
      }(),
      SeenEnough);
  CHECK(steps == 101);  // of 30 s on average
  CHECK_FALSE(collector.figures().is_precise);
}

TEST_CASE("steps that become slower are not steady") {
  StepCollector collector(each_step(), present_time);
  collector.run_began();
  const Listening listening(collector);
  for (int i = 0; i < 16; ++i) step(i < 8 ? 0 : 15);
  const StepFigures figures = collector.figures();
  REQUIRE(figures.drift);
  CHECK(*figures.drift == Approx(1));
  CHECK_FALSE(figures.is_steady());
}

TEST_CASE("any number of steps takes the same memory, and none is lost") {
  StepCollector collector({.seconds = 1e12, .precision = -1, .cold = 0, .counted = 0, .block = 1e4}, present_time);
  collector.run_began();
  const Listening listening(collector);
  for (int i = 0; i < 20'000; ++i) step(i % 2);
  const StepFigures figures = collector.figures();
  CHECK(figures.steps == 20'000);
  CHECK(figures.mean == Approx(15.5));
  CHECK(figures.step.median == Approx(15.5));
}

TEST_CASE("a device that works by itself is waited for after each phase of further steps") {
  StepLimits limits = each_step();
  limits.seconds = 100;  // the steps of 15 s, with what follows each, are timed as long; 10 s are left to those counted
  limits.counted = 2;
  int waits = 0;
  limits.wait = [&] {
    ++waits;
    pass(2);
  };
  StepCollector collector(limits, present_time);
  collector.run_began();
  const Listening listening(collector);
  while (!collector.is_done()) {
    step();
    if (collector.figures().counted == 0) CHECK(waits == 0);
    work(Phase::validate, 5, "val");
  }
  const StepFigures figures = collector.figures();
  CHECK(figures.mean == Approx(15));
  REQUIRE(figures.awaited == 1);
  CHECK(sum(figures.asking) == Approx(15));
  CHECK(figures.asking[static_cast<std::size_t>(Phase::backward)] == Approx(4));
  CHECK(figures.waiting[static_cast<std::size_t>(Phase::backward)] == Approx(2));
  CHECK(figures.waiting[static_cast<std::size_t>(Phase::validate)] == 0);
  CHECK(sum(figures.waiting) == Approx(2 * (waits - 1)));  // the first wait is for what was asked for earlier
}

TEST_CASE("a device that fails while it is waited for ends the figures, and nothing is raised") {
  StepLimits limits = each_step();
  limits.seconds = 100;
  limits.counted = 1;
  int waits = 0;
  SECTION("before a step") {}
  SECTION("within a step") { waits = -2; }
  limits.wait = [&] {
    if (++waits > 0) throw std::runtime_error("the device has failed");
  };
  StepCollector collector(limits, present_time);
  collector.run_began();
  const Listening listening(collector);
  while (!collector.is_done()) step();
  CHECK(waits == 1);
  CHECK(collector.figures().counted == 1);
  CHECK(collector.figures().awaited == 0);
  CHECK(sum(collector.figures().asking) == 0);
}

TEST_CASE("the steps of a task are the passes through its loop") {
  StepCollector collector(each_step(), present_time);
  collector.run_began();
  const Listening listening(collector);
  for (int i = 0; i < 3; ++i) {
    collector.step_began();
    work(Phase::fetch, 2);
    pass(5);
    work(Phase::read, 1);
    work(Phase::commit, 50);
    if (i < 2) collector.step_ended();
  }
  const StepFigures figures = collector.figures();
  CHECK(figures.steps == 2);
  CHECK(figures.mean == Approx(8));
  CHECK(figures.per_step(Phase::callback) == Approx(5));
  CHECK(figures.per_step(Phase::read) == Approx(1));
  CHECK(figures.commit.seconds == Approx(50));
  CHECK(figures.commit.count == 3);
  CHECK(figures.commits_timed == 2);  // the last one belongs to a step that did not end
}

TEST_CASE("operators are counted by phase, those of evaluations apart") {
  const at::Tensor x = at::ones({2, 2});
  const auto counted_step = [&] {
    const Span whole(Phase::step);
    pass(1);
    {
      const Span forward(Phase::forward);
      for (int i = 0; i < 3; ++i) at::add(x, x);
    }
    const Span optimizer(Phase::optimizer);
    at::linear(x, x);  // calls others
  };
  StepCollector collector({.seconds = 1e9, .cold = 0, .counted = 4, .block = 1e-9}, present_time);
  collector.run_began();
  {
    const Listening listening(collector);
    while (!collector.is_done()) {
      counted_step();
      const Span validation(Phase::validate, "val");
      const Span forward(Phase::forward);
      at::add(x, x);
    }
  }
  at::add(x, x);
  const StepFigures figures = collector.figures();
  CHECK(figures.counted == 4);
  CHECK(figures.operators_in(Phase::forward).calls == 3);
  CHECK(figures.operators_in(Phase::optimizer).calls > 1);
  CHECK(figures.operators_in(Phase::forward).seconds > 0);
  CHECK(figures.operators_in(Phase::backward).calls == 0);
}

TEST_CASE("operators are counted once enough steps are timed, and a training that ends soon has both figures") {
  StepCollector collector({.seconds = 1e9, .precision = -1, .cold = 2, .counted = 3, .block = 1e-9}, present_time);
  collector.run_began();
  const Listening listening(collector);
  for (int i = 0; i < 12; ++i) step(i >= 7 && i < 10 ? 100 : 0);  // the counted steps are no timed ones
  const StepFigures figures = collector.figures();
  CHECK(figures.cold == 2);
  CHECK(figures.counted == 3);
  CHECK(figures.steps == 7);
  CHECK(figures.mean == Approx(15));
  CHECK(figures.thread.pieces == 2);
}

TEST_CASE("where the last step of an epoch is smaller, operators are counted after whole epochs") {
  StepCollector collector({.seconds = 1e9, .precision = -1, .cold = 0, .counted = 1, .block = 1e-9, .cycle = 4},
                          present_time);
  collector.run_began();
  const Listening listening(collector);
  for (int i = 0; i < 8; ++i) {
    CHECK(collector.figures().counted == 0);
    step();
  }
  step();
  CHECK(collector.figures().counted == 1);
  CHECK(collector.figures().steps == 8);
}

TEST_CASE("a call without arithmetic takes some time") { CHECK(seconds_of_a_call() > 0); }

}  // namespace trainlab::step_collector_test
