// The comparison of two speeds.
#include <catch2/catch.hpp>

#include "profile/speed.h"
#include "support/error_of.h"

namespace trainlab::speed_test {

using namespace test;

namespace {

Value speed(double median, double width, const std::string& more = "") {
  const auto interval = [&](double factor) {
    return Value::Map{
        {"median", factor * median}, {"low", factor * median * (1 - width)}, {"high", factor * median * (1 + width)}};
  };
  return Value::Map{{"kind", "bench"},
                    {"stage", "f"},
                    {"options", "abc"},
                    {"steps_per_second", interval(1)},
                    {"samples_per_second", interval(64)},
                    {"has_interval", true},
                    {"is_precise", true},
                    {"machine", Value::Map{{"processor", "fast" + more}, {"cores", 2}, {"threads", 1}}}};
}

Comparison compared(const Value& now, const Value& before) { return compare_speed(now, before, 0.03, "old.json"); }

}  // namespace

TEST_CASE("a stage is slower when the intervals leave no other answer") {
  CHECK_FALSE(compared(speed(100, 0.01), speed(100, 0.01)).is_slower);
  CHECK(compared(speed(90, 0.01), speed(100, 0.01)).is_slower);
  CHECK(compared(speed(90, 0.01), speed(100, 0.01)).text.find("slower by more than 3 %") != std::string::npos);
  const Comparison open = compared(speed(95, 0.02), speed(100, 0.02));
  CHECK_FALSE(open.is_slower);
  CHECK(open.text.find("perhaps slower") != std::string::npos);
  CHECK_FALSE(compared(speed(98, 0.001), speed(100, 0.001)).is_slower);
  CHECK_FALSE(compared(speed(200, 0.01), speed(100, 0.01)).is_slower);
  CHECK(compared(speed(95, 0.001), speed(100, 0.001)).is_slower);
}

TEST_CASE("a speed with other options is judged, and the text says both") {
  Value other = speed(100, 0.01);
  other.set("options", "another");
  const Comparison comparison = compared(speed(90, 0.01), other);
  CHECK(comparison.is_judged);
  CHECK_THAT(comparison.text, Catch::Contains("): slower by more than 3 %\nthe options of the stage differ"));
}

TEST_CASE("the ratio of two speeds has the bounds of both") {
  const Comparison comparison = compared(speed(50, 0.1), speed(100, 0.1));
  CHECK(comparison.ratio.median == Approx(0.5));
  CHECK(comparison.ratio.low == Approx(45.0 / 110));
  CHECK(comparison.ratio.high == Approx(55.0 / 90));
}

TEST_CASE("a speed has no exponent") {
  CHECK(speed_text(speed(19'290.24, 0.5)).starts_with("1,234,575 samples a second (617,288 to 1,851,863 with 95 %"));
  CHECK(speed_text(speed(0.5, 0.5)).starts_with("32 samples a second (16 to 48 with 95 %"));
}

TEST_CASE("the text of a speed names the trial that was measured") {
  Value of_trial = speed(100, 0.01);
  CHECK_THAT(speed_text(of_trial), Catch::EndsWith("probability), stage f\n"));
  of_trial.set("note", "trial 0 of sweep search (lr = 0.01)");
  CHECK_THAT(speed_text(of_trial), Catch::EndsWith(", stage f, trial 0 of sweep search (lr = 0.01)\n"));
}

TEST_CASE("the speed of another machine is not judged") {
  const Comparison other = compared(speed(10, 0.01), speed(100, 0.01, "er"));
  CHECK_FALSE(other.is_slower);
  CHECK(other.text.find("not judged: processor is \"fast\", and was \"faster\"") != std::string::npos);
}

TEST_CASE("a speed without an interval is not judged") {
  Value few = speed(10, 0.01);
  few.set("has_interval", false);
  few.set("is_precise", false);
  CHECK_THAT(speed_text(few), Catch::EndsWith(", too few steps for an interval), stage f\n"
                                              "more steps are needed: a longer stage, or more --seconds\n"));
  CHECK_FALSE(compared(few, speed(100, 0.01)).is_slower);
  CHECK(compared(few, speed(100, 0.01)).text.find("too few steps were timed now") != std::string::npos);
  CHECK(compared(speed(100, 0.01), few).text.find("too few steps were timed then") != std::string::npos);
}

TEST_CASE("a speed that was measured while other work had the cores is not judged") {
  const auto beside = [](double busy, double others) {
    Value one = speed(10, 0.01);
    one.set("cores", Value::Map{{"busy", busy}, {"others", others}, {"usable", 2}});
    return one;
  };
  const Comparison now = compared(beside(0.4, 1.6), speed(100, 0.01));
  CHECK_FALSE(now.is_slower);
  CHECK_THAT(now.text, Catch::EndsWith("\nnot judged: other work had 1.6 of 2 cores now\n"));
  CHECK_THAT(compared(speed(1, 0.01), beside(0.4, 1.6)).text,
             Catch::EndsWith("\nnot judged: other work had 1.6 of 2 cores then\n"));
  CHECK_THAT(speed_text(beside(0.4, 1.6)), Catch::EndsWith("\nother work had 1.6 of 2 cores meanwhile: the stage alone "
                                                           "is faster\n"));
  CHECK(compared(beside(1, 0.8), speed(100, 0.01)).is_slower);     // a core was free
  CHECK(compared(beside(1.9, 0.05), speed(100, 0.01)).is_slower);  // what is usual on a quiet machine
  CHECK(compared(beside(1.8, 0.2), speed(100, 0.01)).is_slower);   // some ticks of a short measurement
  Value unknown = speed(10, 0.01);
  unknown.set("cores", Value::Map{{"busy", 2.0}, {"others", Value()}, {"usable", 2}});
  CHECK(compared(unknown, speed(100, 0.01)).is_slower);
}

TEST_CASE("a stage of one thread beside another job loses no core, and is judged") {
  const auto waiting = [](double run_queue) {
    Value one = speed(10, 0.01);
    one.set("cores", Value::Map{{"busy", 1.0}, {"others", 1.0}, {"usable", 2}, {"run_queue", run_queue}});
    return one;
  };
  CHECK(compared(waiting(0.01), speed(100, 0.01)).is_slower);
  CHECK_THAT(speed_text(waiting(0.01)), !Catch::Contains("other work"));
  CHECK_FALSE(compared(waiting(0.3), speed(100, 0.01)).is_slower);
  CHECK_THAT(speed_text(waiting(0.3)), Catch::Contains("other work had 1.0 of 2 cores meanwhile"));
}

TEST_CASE("what is no speed, or of another stage, is refused") {
  CHECK(error_of([] {
          compared(speed(1, 0.1), Value::Map{{"kind", "profile"}});
        }).find("--against old.json: expected") != std::string::npos);
  for (const Value& samples : {Value(Value::Map{}), Value(Value::Map{{"median", 1.0}}), Value("many"), Value(3.0)}) {
    Value damaged = speed(1, 0.1);
    damaged.set("samples_per_second", samples);
    CHECK(error_of([&] { compared(speed(1, 0.1), damaged); }).find("--against old.json: expected what") !=
          std::string::npos);
  }
  Value of_task = speed(1, 0.1);
  of_task.set("samples_per_second", Value());
  CHECK(compared(speed(1, 0.1), of_task).ratio.median == Approx(1));
  Value other = speed(1, 0.1);
  other.set("stage", "g");
  CHECK(error_of([&] { compared(speed(1, 0.1), other); }).find("found that of \"g\"") != std::string::npos);
}

}  // namespace trainlab::speed_test
