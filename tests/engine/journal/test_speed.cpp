// Where the time of a run goes, on a clock of the test's own.
#include "journal/speed.h"

#include <catch2/catch.hpp>

#include "run/run.h"

namespace trainlab::speed_test {

namespace {

double share(const Value& speed, const char* name) { return speed["shares"][name].number(); }

}  // namespace

namespace {

std::vector<std::string> notes_of(SpeedMeter& meter) {
  std::vector<std::string> notes;
  meter.tell_notes([&](const std::string& note) { notes.push_back(note); });
  return notes;
}

}  // namespace

TEST_CASE("shares of the wall time are those of the work that was told, and add up to 1") {
  SpeedMeter meter([] { return std::optional<double>(); });
  meter.begin(100);
  double now = 101;  // a second before the first step
  for (int step = 0; step < 4; ++step, now += 1.0) meter.stepped(now, now + 0.25, now + 1.0, 32);
  meter.evaluated(105, 107);
  meter.committed(107, 108);
  const Value speed = meter.to_value(110, 4096);
  CHECK(share(speed, "training") == Approx(0.3));
  CHECK(share(speed, "input") == Approx(0.1));
  CHECK(share(speed, "evaluation") == Approx(0.2));
  CHECK(share(speed, "checkpoint") == Approx(0.1));
  CHECK(share(speed, "other") == Approx(0.3));
  CHECK(speed["samples_per_second"].number() == Approx(32));
  CHECK(speed["without_core"].is_nil());
  CHECK(speed["peak_memory"].integer() == 4096);
}

TEST_CASE("times of steps have their median and 95 % quantile to 1 %") {
  SpeedMeter meter([] { return std::optional<double>(); });
  meter.begin(0);
  double now = 0;
  for (int step = 1; step <= 100; ++step) {
    const double seconds = step * 1e-4;
    meter.stepped(now, now, now + seconds, 1);
    now += seconds;
  }
  const Value steps = meter.to_value(now, 0)["step_seconds"];
  CHECK(steps["median"].number() == Approx(50e-4).epsilon(0.0101));
  CHECK(steps["p95"].number() == Approx(95e-4).epsilon(0.0101));
}

TEST_CASE("a run without a step has no times of steps and no rate") {
  SpeedMeter meter;
  meter.begin(1);
  const Value speed = meter.to_value(1, 0);
  CHECK(speed["step_seconds"].is_nil());
  CHECK(speed["samples_per_second"].is_nil());
}

TEST_CASE("steps outside of the bins count in the first and the last of them") {
  SpeedMeter meter;
  meter.begin(0);
  meter.stepped(0, 0, 0, 1);
  CHECK(meter.to_value(1, 0)["step_seconds"]["median"].number() < 2e-6);
  for (int step = 0; step < 3; ++step) meter.stepped(0, 0, 1e9, 1);
  CHECK(meter.to_value(1, 0)["step_seconds"]["median"].number() > 8e4);
}

TEST_CASE("waiting for data is told once, when a fifth of some seconds of training went on it") {
  SpeedMeter meter([] { return std::optional<double>(); });
  meter.begin(0);
  const auto steps = [&](double from, double to, double waiting) {
    for (double now = from; now < to; now += 0.5) meter.stepped(now, now + 0.5 * waiting, now + 0.5, 1);
  };
  steps(0, 4.5, 0.5);
  CHECK(notes_of(meter).empty());  // too early to say
  steps(4.5, 6, 0.5);
  const std::vector<std::string> notes = notes_of(meter);
  REQUIRE(notes.size() == 1);
  CHECK(notes.front().find("note: waiting for data takes 50 %") == 0);
  steps(6, 30, 0.5);
  CHECK(notes_of(meter).empty());
}

TEST_CASE("nothing is told of a run that waits little") {
  SpeedMeter meter([] { return std::optional(0.0); });
  meter.begin(0);
  for (int step = 0; step < 60; ++step) meter.stepped(step, step + 0.19, step + 1, 1);
  CHECK(notes_of(meter).empty());
}

namespace {

// A run whose thread waits for a core for a share of each second, while the run and other work have these shares of the
// usable cores.
class WaitingRun {
 public:
  WaitingRun(double waits, double run, double others) : waits_(waits), run_(run), others_(others) {}

  SpeedMeter meter() {
    return SpeedMeter([this] { return std::optional(waited_); }, [this] { return std::optional(cores_); });
  }
  // Steps of a second each, of which `fetching` waits for data.
  void steps(SpeedMeter& meter, int begin, int end, double fetching = 0) {
    for (int step = begin; step < end; ++step) {
      waited_ += waits_;
      cores_.run += run_ * usable_cores();
      cores_.others += others_ * usable_cores();
      meter.stepped(step, step + fetching, step + 1, 1);
    }
  }

 private:
  const double waits_, run_, others_;
  double waited_ = 7;  // before the run began
  CoreSeconds cores_{.run = 5, .others = 1000};
};

}  // namespace

TEST_CASE("a note has the command that tells more") {
  WaitingRun run(0.4, 0.5, 0.5);
  SpeedMeter meter = run.meter();
  meter.begin(0, "trainlab profile r.lua", "trainlab profile --attach runs/r/001");
  run.steps(meter, 0, 11, 0.5);
  const std::vector<std::string> notes = notes_of(meter);
  REQUIRE(notes.size() == 2);
  CHECK(notes[0] ==
        "note: waiting for data takes 50 % of the training time; what limits the input is said by: trainlab profile "
        "r.lua");
  CHECK(notes[1] ==
        "note: other work has the cores: for 40 % of the time the training was ready to go on and waited for a core; "
        "what its steps wait for is said by: trainlab profile --attach runs/r/001");
}

TEST_CASE("work of others on the cores is told once, as a share since the run began") {
  WaitingRun run(0.4, 0.5, 0.5);
  SpeedMeter meter = run.meter();
  meter.begin(0);
  run.steps(meter, 0, 30);
  const std::vector<std::string> notes = notes_of(meter);
  REQUIRE(notes.size() == 1);
  CHECK(notes.front().find("note: other work has the cores: for 40 %") == 0);
  CHECK(meter.to_value(30, 0)["without_core"].number() == Approx(0.4));
}

TEST_CASE("threads of the run that compete for the cores are not called other work") {
  WaitingRun run(0.4, 0.98, 0.02);
  SpeedMeter meter = run.meter();
  meter.begin(0);
  run.steps(meter, 0, 30);
  const std::vector<std::string> notes = notes_of(meter);
  REQUIRE(notes.size() == 1);
  CHECK(
      notes.front() ==
      "note: the run has more threads than cores: for 40 % of the time the training was ready to go on and waited for "
      "a core; fewer of them (--threads, loader.threads, workers) may be faster");
}

TEST_CASE("where nobody knows who has the cores, nothing is told of them") {
  double waited = 0;
  SpeedMeter meter([&] { return std::optional(waited); }, [] { return std::optional<CoreSeconds>(); });
  meter.begin(0);
  for (int step = 0; step < 30; ++step) {
    waited += 0.4;
    meter.stepped(step, step, step + 1, 1);
  }
  CHECK(notes_of(meter).empty());
}

}  // namespace trainlab::speed_test
