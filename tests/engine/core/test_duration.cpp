#include <catch2/catch.hpp>

#include "core/duration.h"
#include "core/error.h"
#include "engine/core/sample_registry.h"

namespace trainlab::duration_test {

TEST_CASE("durations are read in every form that a recipe may use") {
  CHECK(parse_duration("5%") == Duration{5, Unit::percent});
  CHECK(parse_duration(" 0.5 % ") == Duration{0.5, Unit::percent});
  CHECK(parse_duration("500 steps") == Duration{500, Unit::steps});
  CHECK(parse_duration("1step") == Duration{1, Unit::steps});
  CHECK(parse_duration("1e3 samples") == Duration{1000, Unit::samples});
  CHECK(parse_duration("1 sample") == Duration{1, Unit::samples});
  CHECK(parse_duration("2.5 epochs") == Duration{2.5, Unit::epochs});
  CHECK(parse_duration("1 epoch") == Duration{1, Unit::epochs});
  for (const char* text : {"90 s", "90 sec", "90 second", "90 seconds", "1.5 min", "1.5 minute", "1.5minutes"}) {
    CHECK(parse_duration(text) == Duration{90, Unit::seconds});
  }
  for (const char* text : {"48 h", "48 hour", "48 hours", "2 d", "2 day", "2 days"}) {
    CHECK(parse_duration(text) == Duration{172800, Unit::seconds});
  }
}

TEST_CASE("what is no duration is refused with the accepted forms") {
  for (const char* text :
       {"", "  ", "5", "steps", "5 parsecs", "5 steps more", "nan s", "inf s", "1e999 s", "0x10 s", "1e308 d", "%"}) {
    CAPTURE(text);
    const std::string error = sample::error_of([&] { parse_duration(text); });
    CHECK(error.find("expected a duration, found \"" + std::string(text) + "\"") == 0);
    CHECK(error.find("\"500 steps\"") != std::string::npos);
  }
  CHECK(sample::error_of([] { parse_duration("-1 h"); }) == "a duration cannot be negative, found \"-1 h\"");
  CHECK(sample::error_of([] { parse_duration("2.5 steps"); }) ==
        "expected a whole number of steps, found \"2.5 steps\"");
}

TEST_CASE("the text of a duration reads back as the same duration") {
  CHECK(to_text({1, Unit::epochs}) == "1 epoch");
  CHECK(to_text({1e5, Unit::epochs}) == "100000 epochs");
  CHECK(to_text({2.3e16, Unit::steps}) == "23000000000000000 steps");
  CHECK(to_text({64800, Unit::seconds}) == "18 h");
  CHECK(to_text({5400, Unit::seconds}) == "90 min");
  CHECK(to_text(parse_duration("1.1 h")) == "66 min");
  CHECK(to_text(parse_duration("0.7 min")) == "42 s");
  CHECK(to_text({0, Unit::seconds}) == "0 s");
  for (const char* text :
       {"5%", "33.3%", "1 step", "12345678901 samples", "0.1 epochs", "0.1 s", "0.1 h", "1e-9 s", "7 d"}) {
    const Duration duration = parse_duration(text);
    CHECK(parse_duration(to_text(duration)) == duration);
  }
}

TEST_CASE("durations are turned into steps, to the nearest") {
  const auto steps = [](const char* text) { return in_steps(parse_duration(text), 28, 64, 1120); };
  CHECK(steps("500 steps") == 500);
  CHECK(steps("2 epochs") == 56);
  CHECK(steps("0.25 epochs") == 7);
  CHECK(steps("5%") == 56);
  CHECK(steps("1000 samples") == 16);  // 15.6
  CHECK(steps("10 samples") == 0);
  CHECK(steps("18 h") == std::nullopt);
  CHECK(steps("1e300 epochs") == std::int64_t{1} << 53);
  CHECK(in_steps({5, Unit::percent}, 28, 64, 0) == std::nullopt);
}

TEST_CASE("a duration in other words is answered with the right ones") {
  const auto hint = [](const char* text) {
    try {
      parse_duration(text);
    } catch (const Error& error) {
      return error.hint();
    }
    return std::string("accepted");
  };
  CHECK(hint("5 mins") == "write \"5 min\"");
  CHECK(hint("1h30m") == "write \"90 min\"");
  CHECK(hint("1 hour 30 min") == "write \"90 min\"");
  CHECK(hint("2 hrs") == "write \"2 h\"");
  CHECK(hint("3 Epochs") == "write \"3 epochs\"");
  for (const char* text : {"90", "soon", "1 epoch 5 min", "5 min 1 epoch", "", "5 parsecs"}) {
    CAPTURE(text);
    CHECK_THAT(hint(text), Catch::StartsWith("a number and a unit"));
  }
}

}  // namespace trainlab::duration_test
