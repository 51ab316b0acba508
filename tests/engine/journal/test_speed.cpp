// Where the time of a run goes, on a clock of the test's own.
#include "journal/speed.h"

#include <catch2/catch.hpp>

#include "core/value.h"
#include "run/run.h"

namespace trainlab::speed_test {

namespace {

double share(const Value& speed, const char* name) { return speed["shares"][name].number(); }

SpeedMeter::CoreWait unknown() {
  return [] { return std::optional<double>(); };
}

// A run whose thread waits for a core for a share of each second, while the run and other work have these shares of the
// usable cores.
class WaitingRun {
 public:
  WaitingRun(double waits, double run, double others) : waits_(waits), run_(run), others_(others) {}

  SpeedMeter meter() {
    return SpeedMeter([this] { return std::optional(waited_); });
  }
  std::optional<CoreSeconds> cores() const { return cores_; }
  // Steps of a second each, of which `fetching` waits for data.
  void steps(SpeedMeter& meter, int begin, int end, double fetching = 0) {
    for (int step = begin; step < end; ++step) {
      waited_ += waits_;
      pass(1);
      meter.stepped(step, step + fetching, step + 1, 1);
    }
  }
  // Seconds in which the run and other work have the cores.
  void pass(double seconds) {
    cores_.run += seconds * run_ * usable_cores();
    cores_.others += seconds * others_ * usable_cores();
  }

 private:
  const double waits_, run_, others_;
  double waited_ = 7;  // before the run began
  CoreSeconds cores_{.run = 5, .others = 1000};
};

// A total that keeps what it tells.
struct Listening {
  explicit Listening(
      SpeedWords words = {}, SpeedTotal::Cores cores = [] { return std::optional<CoreSeconds>(); })
      : total([this](const std::string& note) { notes.push_back(note); }, std::move(words), std::move(cores)) {}
  explicit Listening(const WaitingRun& run, SpeedWords words = {})
      : Listening(std::move(words), [&run] { return run.cores(); }) {}
  std::vector<std::string> notes;
  SpeedTotal total;
};

// Trainings of `steps` seconds each, one after the other, with pauses of as many seconds between them.
void train(WaitingRun& run, Listening& heard, int trainings, int steps, int pause) {
  int now = 0;
  for (int training = 0; training < trainings; ++training) {
    SpeedMeter meter = run.meter();
    meter.begin(now, heard.total);
    run.steps(meter, now, now + steps);
    meter.end(now + steps, 0);
    run.pass(pause);
    now += steps + pause;
  }
}

}  // namespace

TEST_CASE("shares of the wall time are those of the work that was told, and add up to 1") {
  Listening heard;
  SpeedMeter meter(unknown());
  meter.begin(100, heard.total);
  double now = 101;  // a second before the first step
  for (int step = 0; step < 4; ++step, now += 1.0) meter.stepped(now, now + 0.25, now + 1.0, 32);
  meter.evaluated(105, 107);
  meter.committed(107, 108);
  const Value speed = meter.figures(110, 4096).to_value();
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
  Listening heard;
  SpeedMeter meter(unknown());
  meter.begin(0, heard.total);
  double now = 0;
  for (int step = 1; step <= 100; ++step) {
    const double seconds = step * 1e-4;
    meter.stepped(now, now, now + seconds, 1);
    now += seconds;
  }
  const Value steps = meter.figures(now, 0).to_value()["step_seconds"];
  CHECK(steps["median"].number() == Approx(50e-4).epsilon(0.0101));
  CHECK(steps["p95"].number() == Approx(95e-4).epsilon(0.0101));
}

TEST_CASE("a run without a step has no times of steps and no rate") {
  Listening heard;
  SpeedMeter meter;
  meter.begin(1, heard.total);
  const Value speed = meter.figures(1, 0).to_value();
  CHECK(speed["step_seconds"].is_nil());
  CHECK(speed["samples_per_second"].is_nil());
}

TEST_CASE("steps outside of the bins count in the first and the last of them") {
  Listening heard;
  SpeedMeter meter;
  meter.begin(0, heard.total);
  meter.stepped(0, 0, 0, 1);
  CHECK(meter.figures(1, 0).to_value()["step_seconds"]["median"].number() < 2e-6);
  for (int step = 0; step < 3; ++step) meter.stepped(0, 0, 1e9, 1);
  CHECK(meter.figures(1, 0).to_value()["step_seconds"]["median"].number() > 8e4);
}

TEST_CASE("waiting for data is told once, when a fifth of some seconds of training went on it") {
  Listening heard;
  SpeedMeter meter(unknown());
  meter.begin(0, heard.total);
  const auto steps = [&](double from, double to, double waiting) {
    for (double now = from; now < to; now += 0.5) meter.stepped(now, now + 0.5 * waiting, now + 0.5, 1);
  };
  steps(0, 4.5, 0.5);
  CHECK(heard.notes.empty());  // too early to say
  steps(4.5, 6, 0.5);
  REQUIRE(heard.notes.size() == 1);
  CHECK(heard.notes.front().find("note: waiting for data takes 50 %") == 0);
  steps(6, 30, 0.5);
  CHECK(heard.notes.size() == 1);
}

TEST_CASE("the recipe's own transforms are told where they are most of what steps take to get data") {
  const auto note_for = [](double transforming) {
    Listening heard({.on_input = "trainlab profile r.lua"});
    SpeedMeter meter(unknown());
    meter.begin(0, heard.total);
    for (int step = 0; step < 6; ++step) meter.stepped(step, step + 0.5, step + 1, 1, transforming);
    const Value speed = meter.figures(6, 0).to_value();
    CHECK(share(speed, "input") == Approx(0.5));
    CHECK(speed["transform"].number() == Approx(transforming));
    REQUIRE(heard.notes.size() == 1);
    return heard.notes.front();
  };
  CHECK(note_for(0.4) ==
        "note: getting the data takes 50 % of the training time, most of it in the recipe's own functions "
        "(data:transform), which run on the thread that trains; what its steps wait for is said by: trainlab profile "
        "r.lua");
  CHECK(note_for(0.1) ==
        "note: getting the data takes 50 % of the training time: waiting for them 40 %, and the recipe's own functions "
        "(data:transform) 10 %; what limits the input is said by: trainlab profile r.lua");
  CHECK(note_for(0) ==
        "note: waiting for data takes 50 % of the training time; what limits the input is said by: trainlab profile "
        "r.lua");
}

TEST_CASE("nothing is told of a run that waits little") {
  Listening heard;
  SpeedMeter meter([] { return std::optional(0.0); });
  meter.begin(0, heard.total);
  for (int step = 0; step < 60; ++step) meter.stepped(step, step + 0.19, step + 1, 1);
  CHECK(heard.notes.empty());
}

TEST_CASE("a note has the command that tells more") {
  WaitingRun run(0.4, 0.5, 0.5);
  Listening heard(run, {.on_input = "trainlab profile r.lua", .on_cores = "trainlab profile --attach runs/r/001"});
  SpeedMeter meter = run.meter();
  meter.begin(0, heard.total);
  run.steps(meter, 0, 11, 0.5);
  REQUIRE(heard.notes.size() == 2);
  CHECK(heard.notes[0] ==
        "note: waiting for data takes 50 % of the training time; what limits the input is said by: trainlab profile "
        "r.lua");
  CHECK(heard.notes[1] ==
        "note: other work has the cores: for 40 % of the time the training was ready to go on and waited for a core; "
        "what its steps wait for is said by: trainlab profile --attach runs/r/001");
}

TEST_CASE("work of others on the cores is told once, as a share since the run began") {
  WaitingRun run(0.4, 0.5, 0.5);
  Listening heard(run);
  SpeedMeter meter = run.meter();
  meter.begin(0, heard.total);
  run.steps(meter, 0, 30);
  REQUIRE(heard.notes.size() == 1);
  CHECK(heard.notes.front().find("note: other work has the cores: for 40 %") == 0);
  const Value speed = meter.figures(30, 0).to_value();
  CHECK(speed["without_core"].number() == Approx(0.4));
  REQUIRE(speed["notes"].list().size() == 1);
  CHECK("note: " + speed["notes"].list().front().string() == heard.notes.front());
}

TEST_CASE("threads of the run that compete for the cores are not called other work") {
  WaitingRun run(0.4, 0.98, 0.02);
  Listening heard(run);
  SpeedMeter meter = run.meter();
  meter.begin(0, heard.total);
  run.steps(meter, 0, 30);
  REQUIRE(heard.notes.size() == 1);
  CHECK(
      heard.notes.front() ==
      "note: the run has more threads than cores: for 40 % of the time the training was ready to go on and waited for "
      "a core; fewer of them (--threads, loader.threads, workers) may be faster");
}

TEST_CASE("who has the cores is found out over trainings that are each too short for it") {
  WaitingRun run(0.4, 0.5, 0.5);
  Listening heard(run);
  train(run, heard, 8, 3, 0);
  REQUIRE(heard.notes.size() == 1);
  CHECK(heard.notes.front().find("note: other work has the cores: for 40 %") == 0);
  CHECK(heard.total.take().for_others > 0);
}

TEST_CASE("a wait for a core is a share of the trainings, without the pauses between them") {
  WaitingRun run(0.5, 0.7, 0.3);  // alone, its threads would wait for 0.29 of the time
  Listening heard(run);
  train(run, heard, 4, 6, 4);
  REQUIRE(heard.notes.size() == 1);
  CHECK(heard.notes.front().find("note: the run has more threads than cores: for 50 %") == 0);
}

TEST_CASE("nobody knows who has the cores in trainings that are short beside the pauses between them") {
  WaitingRun run(0.5, 0.7, 0.3);
  Listening heard(run);
  train(run, heard, 4, 6, 94);
  CHECK(heard.notes.empty());
}

TEST_CASE("a wait while cores were free by the kernel's figures has no note") {
  WaitingRun run(0.4, 0.1, 0.05);
  Listening heard(run);
  SpeedMeter meter = run.meter();
  meter.begin(0, heard.total);
  run.steps(meter, 0, 30);
  CHECK(heard.notes.empty());
  CHECK(meter.figures(30, 0).to_value()["without_core"].number() == Approx(0.4));
}

TEST_CASE("where nobody knows who has the cores, nothing is told of them") {
  WaitingRun run(0.4, 0.5, 0.5);
  Listening heard;
  SpeedMeter meter = run.meter();
  meter.begin(0, heard.total);
  run.steps(meter, 0, 30);
  CHECK(heard.notes.empty());
  CHECK(meter.figures(30, 0).to_value()["notes"].list().empty());
}

TEST_CASE("trainings that are each too short to say count together, and what they wait for is told once") {
  Listening heard;
  const auto train = [&](double begin) {
    SpeedMeter meter(unknown());
    meter.begin(begin, heard.total);
    for (double now = begin; now < begin + 2; now += 0.5) meter.stepped(now, now + 0.2, now + 0.5, 1);
    meter.end(begin + 2, 0);
  };
  train(0);
  train(100);
  CHECK(heard.notes.empty());
  for (double begin = 200; begin < 2000; begin += 100) train(begin);
  REQUIRE(heard.notes.size() == 1);
  CHECK(heard.notes.front().find("note: waiting for data takes 40 %") == 0);
}

TEST_CASE("figures of several trainings add up, also those of other processes") {
  Listening heard;
  const auto train = [&](double step, double waiting, int count, std::int64_t peak) {
    SpeedMeter meter(unknown());
    meter.begin(0, heard.total);
    double now = 0;
    for (int i = 0; i < count; ++i, now += step) meter.stepped(now, now + step * waiting, now + step, 10);
    meter.evaluated(now, now + 1);
    meter.end(now + 1, peak);
    return heard.total.take();
  };
  const SpeedFigures slow = train(0.1, 0.4, 90, 500), fast = train(0.01, 0, 300, 900);  // 10 s and 4 s
  SpeedFigures all;
  REQUIRE(all.add(parse_json(to_json(slow.sums()), "sums")));
  REQUIRE(all.add(parse_json(to_json(fast.sums()), "sums")));
  const Value speed = all.to_value();
  CHECK(share(speed, "training") == Approx((5.4 + 3) / 14));
  CHECK(share(speed, "input") == Approx(3.6 / 14));
  CHECK(share(speed, "evaluation") == Approx(2.0 / 14));
  CHECK(speed["samples_per_second"].number() == Approx(3900 / 12.0));
  CHECK(speed["peak_memory"].integer() == 900);
  CHECK(speed["without_core"].is_nil());
  CHECK(speed["step_seconds"]["median"].number() == Approx(0.01).epsilon(0.0101));
  CHECK(speed["step_seconds"]["p95"].number() == Approx(0.1).epsilon(0.0101));
  REQUIRE(speed["notes"].list().size() == 1);
  CHECK(speed["notes"].list().front().string() == "waiting for data takes 30 % of the training time");
}

TEST_CASE("what is no sum of figures is not added") {
  SpeedFigures all;
  for (const char* text : {"null", "3", "{}", R"({"samples": 1, "peak_memory": 2})", R"({"samples": 1.5})"}) {
    INFO(text);
    CHECK_FALSE(all.add(parse_json(text, "sums")));
  }
  CHECK(all.samples == 0);
  StepTimes times;
  for (const char* text : {"", "x", "999999:1", "3:-1", "3;4"}) times.add(Value(text));
  CHECK(times.steps() == 0);
}

}  // namespace trainlab::speed_test
