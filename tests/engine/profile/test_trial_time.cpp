// The seconds that are promised to be enough for all trials.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>

#include "profile/remedies.h"

namespace trainlab::trial_time_test {

using namespace test;

namespace {

// A profile of made-up times: for its first parts and for the trials it takes what a machine of a kind gives.
struct MadeUp {
  double fixed, part;    // seconds of the first parts, and the part of the profile's seconds that they take
  double trial, longer;  // seconds of a trial, and how much longer it is under a long limit
  std::int64_t changes;

  double before(double seconds) const { return fixed + part * seconds; }
  double trial_in(double seconds) const {
    const double share = (seconds - before(seconds)) / static_cast<double>(12 * (changes + 1));
    return trial + longer * std::clamp((share - 0.1) / 0.2, 0.0, 1.0);
  }
  std::int64_t tried(double seconds) const {
    const double left = (seconds - before(seconds)) / trial_in(seconds);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(left), 0, changes);
  }
  double promised(double seconds) const {
    const double one = trial_in(seconds), all = static_cast<double>(changes);
    const auto done = static_cast<double>(tried(seconds));
    return enough_seconds({.seconds = seconds,
                           .before = before(seconds),
                           .tried = done * one,
                           .missing = (all - done) * one + all * (trial + longer - one)});
  }
};

}  // namespace

TEST_CASE("the seconds that are promised to be enough are enough, and not many more than needed") {
  for (const double fixed : {0.2, 1.0, 3.0}) {
    for (const double part : {0.05, 0.3, 0.5}) {
      for (const double trial : {0.3, 1.0, 6.0}) {
        for (const std::int64_t changes : {1, 4, 9}) {
          const MadeUp made_up{fixed, part, trial, trial < 1 ? 0.8 : 0.1, changes};
          const double whole = (fixed + static_cast<double>(changes) * (trial + made_up.longer)) / (1 - part);
          double needed = 1;
          while (made_up.tried(needed) < changes) needed += 0.5;
          for (double seconds = 2; seconds < needed; seconds += 1) {
            INFO(fixed << " " << part << " " << trial << " " << changes << " in " << seconds);
            const double promised = made_up.promised(seconds);
            CHECK(promised > seconds);
            CHECK(made_up.tried(promised) == changes);
            CHECK(promised <= 2.5 * whole + 5);
          }
        }
      }
    }
  }
  // A number that a person would type.
  CHECK(enough_seconds({.seconds = 5, .before = 1, .tried = 2, .missing = 2}) == 7);
  CHECK(enough_seconds({.seconds = 10, .before = 3, .tried = 6, .missing = 7}) == 25);
  CHECK(enough_seconds({.seconds = 30, .before = 20, .tried = 0, .missing = 300}) == 780);
  CHECK(enough_seconds({.seconds = 0.5, .before = 2, .tried = 0, .missing = 0}) == 4);
  // A trial that was disturbed, and took 2 s longer, moves the promise by little.
  CHECK(enough_seconds({.seconds = 25, .before = 5, .tried = 18, .missing = 4}) == 35);
  CHECK(enough_seconds({.seconds = 25, .before = 5, .tried = 20, .missing = 4}) == 40);
}

}  // namespace trainlab::trial_time_test
