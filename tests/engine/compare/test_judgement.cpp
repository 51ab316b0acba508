#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "compare/judgement.h"
#include "core/statistics.h"

namespace trainlab::judgement_test {

using namespace trainlab::compare;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

const Target accuracy{.metric = "val.accuracy", .value = 0.9, .minimize = false};
const Target loss{.metric = "val.loss", .value = 0.1, .minimize = true};

Training arrived(double seconds, double value, double whole = 100) {
  return {.seconds = whole, .watched = whole, .arrival = seconds, .value = value, .best = value};
}

// At its first validation, so that the true time is shorter.
Training arrived_first(double seconds) {
  Training training = arrived(seconds, 0.95);
  training.is_first = true;
  return training;
}

Training missed(double whole, double value = 0.5) {
  return {.seconds = whole, .watched = whole, .value = value, .best = value};
}

Training failed(double whole) {
  Training training = missed(whole);
  training.fail();
  return training;
}

// B takes these shares of A's time, and has these values more.
std::vector<Pair> pairs_of(const std::vector<double>& shares, const std::vector<double>& gains) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    // As of a continuous metric: no distance divides all others, and rounding counts for nothing.
    const double value = 0.5 + 0.0137 * std::sqrt(static_cast<double>(i));
    pairs.push_back({.seed = static_cast<std::int64_t>(i),
                     .a = arrived(10 + static_cast<double>(i), value),
                     .b = arrived((10 + static_cast<double>(i)) * shares[i], value + gains[i])});
  }
  return pairs;
}

const std::vector<double> none(5, 0.0);

}  // namespace

TEST_CASE("the intervals are those of the paired t-test") {
  const std::vector<double> gains{.012, .008, .015, .004, .011};
  const Judgement judged = judge(pairs_of({1, 1, 1, 1, 1}, gains), accuracy, std::nullopt, Looks::fixed(5));
  CHECK_THAT(judged.difference.mean, WithinAbs(0.01, 1e-12));
  // The standard deviation is .004183, the critical t 2.77645.
  const double half = 2.77645 * .004183 / std::sqrt(5);
  CHECK_THAT(judged.difference.low, WithinAbs(0.01 - half, 2e-6));
  CHECK_THAT(judged.difference.high, WithinAbs(0.01 + half, 2e-6));
  CHECK(judged.quality == Quality::better);
}

TEST_CASE("a pair without a value costs one difference, not the judgement of the quality") {
  std::vector<Pair> pairs = pairs_of(std::vector<double>(8, 0.5), {.12, .08, .15, .04, .11, .09, .1, .13});
  pairs[3].b.fail();
  const Judgement judged = judge(pairs, accuracy, 0.01, Looks::planned());
  CHECK(judged.without_value == 1);
  CHECK(judged.quality == Quality::better);
  // The level is that of the second look, with the 6 degrees of freedom of 7 differences.
  CHECK_THAT(Looks::planned().critical_t(8, 7), WithinRel(student_quantile(1 - student_p(3.51, 7) / 2, 6), 1e-9));
  CHECK(std::isinf(Looks::planned().critical_t(7, 7)));
}

TEST_CASE("the effect of the speed is in standard deviations of the differences") {
  const std::vector<Pair> pairs = pairs_of({.5, .6, .55, .5, .6}, none);
  const Judgement judged = judge(pairs, accuracy, std::nullopt, Looks::fixed(5));
  // The logarithms' mean is −.600, their standard deviation .0911.
  CHECK_THAT(judged.speed_effect, WithinAbs(6.58, 0.02));
  CHECK(std::isnan(judge(std::span(pairs).first(1), accuracy, std::nullopt, Looks::fixed(5)).speed_effect));
}

TEST_CASE("the drift of the machine is in the seconds for a sample") {
  std::vector<Pair> pairs = pairs_of({.5, .6, .55, .5, .6}, none);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double slow = i < 2 ? 1 : i > 2 ? 1.1 : 7;  // the pair in the middle is in neither half
    // A training with twice the samples takes twice the time.
    pairs[i].a.samples = 1000;
    pairs[i].a.seconds = 10 * slow;
    pairs[i].b.samples = i % 2 == 0 ? 1000 : 2000;
    pairs[i].b.seconds = (i % 2 == 0 ? 20 : 40) * slow;
  }
  CHECK_THAT(judge(pairs, accuracy, std::nullopt, Looks::fixed(5)).drift, WithinAbs(0.1, 1e-9));
  pairs[0].a.has_failed = pairs[1].a.has_failed = true;
  CHECK(std::isnan(judge(pairs, accuracy, std::nullopt, Looks::fixed(5)).drift));
}

TEST_CASE("the ratio is that of the geometric means") {
  const std::vector<double> shares{0.5, 0.52, 0.49, 0.51, 0.48};
  const Judgement judged = judge(pairs_of(shares, none), accuracy, std::nullopt, Looks::planned());
  double sum = 0, squares = 0;
  for (const double share : shares) sum += std::log(share);
  for (const double share : shares) squares += std::pow(std::log(share) - sum / 5, 2);
  const double half = 4.30 * std::sqrt(squares / 4 / 5);
  CHECK(judged.speed == Speed::faster);
  CHECK_THAT(judged.ratio.mean, WithinRel(std::exp(-sum / 5), 1e-12));
  CHECK_THAT(std::log(judged.ratio.high), WithinAbs(-sum / 5 + half, 1e-3));
  CHECK_THAT(std::log(judged.ratio.low), WithinAbs(-sum / 5 - half, 1e-3));
  CHECK(judged.p < 0.05);
  CHECK(judged.is_clear);
  CHECK_FALSE(judged.is_bounded);
}

TEST_CASE("A against B is B against A with the words exchanged") {
  std::vector<Pair> pairs = pairs_of({0.5, 0.55, 0.49, 0.51, 0.48}, {-.01, -.012, -.011, -.009, -.010});
  const Judgement there = judge(pairs, accuracy, std::nullopt, Looks::planned());
  for (Pair& pair : pairs) std::swap(pair.a, pair.b);
  const Judgement back = judge(pairs, accuracy, std::nullopt, Looks::planned());
  CHECK(there.speed == Speed::faster);
  CHECK(back.speed == Speed::slower);
  CHECK(there.quality == Quality::worse);
  CHECK(back.quality == Quality::better);
  CHECK_THAT(back.ratio.low, WithinRel(1 / there.ratio.high, 1e-9));
  CHECK_THAT(back.difference.mean, WithinAbs(-there.difference.mean, 1e-12));
  CHECK(back.p == there.p);
}

TEST_CASE("what trainings deliver and what they had reached at equal time are judged each by itself") {
  std::vector<Pair> pairs = pairs_of({1, 1, 1, 1, 1}, {.012, .008, .015, .004, .011});
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i].a_at_equal_time = 0.4 + 0.0137 * std::sqrt(static_cast<double>(i));
    pairs[i].b_at_equal_time = *pairs[i].a_at_equal_time - std::vector{.012, .008, .015, .004, .011}[i];
  }
  Judgement judged = judge(pairs, accuracy, std::nullopt, Looks::fixed(5));
  CHECK(judged.quality == Quality::better);
  CHECK(judged.quality_at_equal_time == Quality::worse);
  judged = judge(pairs, accuracy, 0.02, Looks::fixed(5));
  CHECK(judged.quality_at_equal_time == Quality::not_worse);
  pairs[1].b_at_equal_time = pairs[2].b_at_equal_time = pairs[3].b_at_equal_time = std::nullopt;
  judged = judge(pairs, accuracy, 0.02, Looks::fixed(5));
  CHECK(judged.quality_at_equal_time == Quality::unclear);
  CHECK(judged.pairs_at_equal_time == 2);
}

TEST_CASE("the budgets are those of whole trainings, as far as they are known") {
  std::vector<Pair> pairs(5);
  for (Pair& pair : pairs) pair = {.a = arrived(5, 0.9, 10), .b = arrived(5, 0.9, 21)};
  pairs[1].b = arrived(5, 0.9, 500);  // while the machine did something else
  pairs[2].b.fail();
  pairs[2].b.seconds = 1;
  const auto budgets = [&] { return judge(pairs, accuracy, std::nullopt, Looks::fixed(5)).budgets; };
  CHECK_THAT(budgets().seconds, WithinRel(2.1, 1e-12));
  CHECK(std::isnan(budgets().flops));
  for (Pair& pair : pairs) {
    pair.a.flops = 1e9;
    pair.b.flops = 1.05e9;
  }
  CHECK_THAT(budgets().flops, WithinRel(1.05, 1e-12));
  CHECK((is_unequal(2.1) && is_unequal(0.5)));
  CHECK_FALSE((is_unequal(1.05) || is_unequal(0.95) || is_unequal(NAN)));
  CHECK(Training::from_value(pairs[0].b.to_value()).flops == 1.05e9);
  CHECK(std::isnan(Training::from_value(missed(3).to_value()).flops));
}

TEST_CASE("the direction of the metric decides what is better") {
  const std::vector<Pair> pairs = pairs_of({1, 1, 1, 1, 1}, {.012, .008, .015, .004, .011});
  CHECK(judge(pairs, accuracy, std::nullopt, Looks::fixed(5)).quality == Quality::better);
  CHECK(judge(pairs, loss, std::nullopt, Looks::fixed(5)).quality == Quality::worse);
}

TEST_CASE("equal needs both ends of the interval within 2 %, and every training at the target") {
  std::vector<Pair> pairs = pairs_of({1.001, 0.999, 1.0005, 0.9995, 1.0001}, none);
  CHECK(judge(pairs, accuracy, std::nullopt, Looks::planned()).speed == Speed::equal);
  pairs[2].a = missed(100);
  pairs[2].b = missed(100);
  CHECK(judge(pairs, accuracy, std::nullopt, Looks::planned()).speed == Speed::unclear);
  const Judgement wide = judge(pairs_of({1.1, 0.9, 1.05, 0.95, 1.01}, none), accuracy, std::nullopt, Looks::planned());
  CHECK(wide.speed == Speed::unclear);
  CHECK_FALSE(wide.is_clear);
  CHECK(pairs_needed(wide.effect, 1000) > 20);
}

TEST_CASE("the margin decides between not worse and unclear, and is waited for") {
  const std::vector<double> shares{0.5, 0.52, 0.49, 0.51, 0.48};
  const std::vector<Pair> pairs = pairs_of(shares, {-.001, .001, -.002, .002, .0005});
  const Judgement wide = judge(pairs, accuracy, 0.01, Looks::planned());
  CHECK(wide.quality == Quality::not_worse);
  CHECK(wide.is_clear);
  const Judgement narrow = judge(pairs, accuracy, 0.001, Looks::planned());
  CHECK(narrow.speed == Speed::faster);
  CHECK(narrow.quality == Quality::unclear);
  CHECK_FALSE(narrow.is_clear);
  CHECK(judge(pairs, accuracy, std::nullopt, Looks::planned()).is_clear);
  // By less than the margin worse for certain: worse, and yet not worse than is allowed.
  const std::vector<Pair> slightly = pairs_of(shares, {-.0010, -.0011, -.0009, -.0010, -.0012});
  CHECK(judge(slightly, accuracy, 0.01, Looks::planned()).quality == Quality::not_worse);
  CHECK(judge(slightly, accuracy, std::nullopt, Looks::planned()).quality == Quality::worse);
}

TEST_CASE("slower is clear whatever the quality") {
  const Judgement judged =
      judge(pairs_of({2, 2.1, 1.9, 2.05, 1.95}, {-.1, .1, -.2, .2, .05}), accuracy, 0.001, Looks::planned());
  CHECK(judged.speed == Speed::slower);
  CHECK(judged.quality == Quality::unclear);
  CHECK(judged.is_clear);
}

TEST_CASE("a training that never arrives counts with the usual length of its recipe's trainings") {
  std::vector<Pair> pairs = pairs_of({0.5, 0.5, 0.5, 0.5, 0.5}, none);
  for (Pair& pair : pairs) pair.a = missed(80);
  pairs[0].a = missed(3);  // it has given up early
  pairs[3].a = missed(95);
  const Judgement judged = judge(pairs, accuracy, std::nullopt, Looks::planned());
  double sum = 0;
  for (const Pair& pair : pairs) sum += std::log(80 / *pair.b.arrival);
  CHECK(judged.window.end == 80);
  CHECK(judged.speed == Speed::faster);
  CHECK(judged.is_bounded);
  CHECK(judged.a.arrived == 0);
  CHECK(judged.b.arrived == 5);
  CHECK_THAT(judged.ratio.mean, WithinRel(std::exp(sum / 5), 1e-12));
  CHECK(judged.ratio.low > 1);
  CHECK(judged.ratio.low < judged.ratio.mean);
  CHECK(std::isinf(judged.ratio.high));  // A's true times are unknown
}

TEST_CASE("the end of the ratio that a training without the target leaves open is unknown") {
  std::vector<Pair> pairs = pairs_of({0.5, 0.52, 0.49, 0.51, 0.48}, none);
  const Interval known = judge(pairs, accuracy, std::nullopt, Looks::planned()).ratio;
  CHECK(known.low > 0);
  CHECK_FALSE(std::isinf(known.high));
  pairs[2].b = missed(20);
  const Interval least_b = judge(pairs, accuracy, std::nullopt, Looks::planned()).ratio;
  CHECK(least_b.low == 0);
  CHECK_FALSE(std::isinf(least_b.high));
  pairs[3].a = missed(20);
  const Interval neither = judge(pairs, accuracy, std::nullopt, Looks::planned()).ratio;
  CHECK(neither.low == 0);
  CHECK(std::isinf(neither.high));
}

TEST_CASE("an arrival after the time for which the other side was watched is no evidence") {
  // A ends after 12 s, and B goes on: what B reaches later, A may have reached as soon.
  std::vector<Pair> pairs = pairs_of({1, 0.9, 1.1, 1.05, 0.95}, none);
  pairs[3].a = missed(12);
  for (Pair& pair : pairs) pair.a.watched = 12;
  pairs[4].a.watched = 15;
  const Judgement judged = judge(pairs, accuracy, std::nullopt, Looks::planned());
  CHECK(judged.window.end == 12);
  const double sum = std::log(11 / 9.9) + std::log(12 / 12.0) + std::log(12 / 12.0) + std::log(12 / 12.0);
  CHECK_THAT(judged.ratio.mean, WithinRel(std::exp(sum / 5), 1e-12));
  CHECK((judged.a.arrived == 4 && judged.a.later == 1));  // after 14 s, in a training that was longer than the usual
  CHECK((judged.b.arrived == 5 && judged.b.later == 3));
  CHECK(judged.is_bounded);
  CHECK(judged.ratio.low == 0);
  CHECK(std::isinf(judged.ratio.high));
  // Where both sides have a training without the target, the shorter one counts.
  pairs[0].b = missed(40);
  CHECK(common_window(pairs).end == 12);
  for (Pair& pair : pairs) pair.b.watched = 11.5;
  CHECK(common_window(pairs).end == 11.5);
}

TEST_CASE("a recipe that stops at the target is watched for longer where it misses the target") {
  std::vector<Pair> pairs(5);
  for (Pair& pair : pairs) pair = {.a = arrived(12, 0.9, 12), .b = arrived(10, 0.9, 10)};
  pairs[1].b = pairs[3].b = missed(120);
  const Judgement judged = judge(pairs, accuracy, std::nullopt, Looks::planned());
  CHECK(judged.window.end == 120);
  CHECK(judged.a.later == 0);
  CHECK_THAT(judged.ratio.mean, WithinRel(std::exp((3 * std::log(12 / 10.0) + 2 * std::log(12 / 120.0)) / 5), 1e-12));
  // One that gives up early has not been watched for longer than those that have arrived.
  pairs[1].b = pairs[3].b = missed(3);
  CHECK(common_window(pairs).end == 10);
}

TEST_CASE("an arrival before the first validations of the other side that tell anything is no evidence") {
  // A's first validation is after 10 s; the true arrival may be after 4 s, and B's 6 s be longer.
  std::vector<Pair> pairs(5);
  for (Pair& pair : pairs) pair = {.a = arrived_first(10), .b = arrived(6, 0.9)};
  pairs[0].a = arrived_first(11);
  pairs[1].a = arrived_first(9);
  const Judgement judged = judge(pairs, accuracy, std::nullopt, Looks::planned());
  CHECK(judged.window.begin == 10);
  CHECK(judged.speed == Speed::unclear);
  CHECK(judged.p == 1);
  CHECK(judged.ratio.mean == 1);
  CHECK(judged.is_bounded);
  CHECK((judged.a.first == 5 && judged.a.sooner == 0));
  CHECK((judged.b.first == 0 && judged.b.sooner == 5));
  // Where B ends before these validations, nobody knows more.
  for (Pair& pair : pairs) pair.b = missed(4);
  CHECK(common_window(pairs).begin == 4);
  CHECK(judge(pairs, accuracy, std::nullopt, Looks::planned()).p == 1);
}

TEST_CASE("a first validation that has reached the target is a bound") {
  std::vector<Pair> pairs = pairs_of({1, 1, 1, 1, 1}, none);
  for (Pair& pair : pairs) pair.b = arrived_first(5);
  const Interval faster = judge(pairs, accuracy, std::nullopt, Looks::planned()).ratio;
  CHECK(faster.low > 1.5);
  CHECK(std::isinf(faster.high));
  for (Pair& pair : pairs) std::swap(pair.a, pair.b);
  const Interval slower = judge(pairs, accuracy, std::nullopt, Looks::planned()).ratio;
  CHECK(slower.low == 0);
  CHECK(slower.high < 0.7);
}

TEST_CASE("where every training arrives each counts with its own time, whatever the lengths") {
  std::vector<Pair> pairs = pairs_of({0.1, 0.11, 0.09, 0.1, 0.12}, none);
  for (Pair& pair : pairs) pair.b.watched = 2;
  const Judgement judged = judge(pairs, accuracy, std::nullopt, Looks::planned());
  CHECK_FALSE(judged.window.end.has_value());
  CHECK_FALSE(judged.is_bounded);
  CHECK(judged.speed == Speed::faster);
  CHECK(judged.ratio.mean > 9);
}

TEST_CASE("a recipe that gives up early is neither faster nor slower") {
  // B ends after 1 s without the target, A arrives after 10 s.
  std::vector<Pair> pairs = pairs_of({1, 1, 1, 1, 1}, none);
  for (Pair& pair : pairs) pair.b = missed(1);
  const Judgement judged = judge(pairs, accuracy, std::nullopt, Looks::planned());
  CHECK(judged.speed == Speed::unclear);
  CHECK(judged.p == 1);
  CHECK(judged.a.later == 5);
}

TEST_CASE("a training that failed would never have arrived") {
  std::vector<Pair> pairs = pairs_of({1, 1, 1, 1, 1}, none);
  for (Pair& pair : pairs) pair.b = failed(1);
  pairs[2].a.watched = 130;
  const Judgement judged = judge(pairs, accuracy, std::nullopt, Looks::planned());
  CHECK(judged.window.end == 130);
  CHECK(judged.speed == Speed::slower);
  CHECK(judged.ratio.low == 0);
  CHECK(judged.ratio.high < 0.2);
  // It says nothing of the time for which a side was watched.
  pairs[0].b = pairs[1].b = missed(20);
  CHECK(common_window(pairs).end == 20);
}

TEST_CASE("where nobody arrives nothing is told of the speed") {
  std::vector<Pair> pairs(20);
  for (Pair& pair : pairs) pair = {.a = missed(10), .b = missed(30)};
  const Judgement judged = judge(pairs, accuracy, std::nullopt, Looks::planned());
  CHECK(judged.speed == Speed::unclear);
  CHECK(judged.p == 1);
  CHECK_FALSE(judged.is_clear);
}

TEST_CASE("equal differences of a metric that counts samples are not certain") {
  // Each B has one of 100 samples more right: without regard to rounding, t would be infinite.
  std::vector<Pair> pairs;
  for (int i = 0; i < 3; ++i) {
    pairs.push_back({.a = arrived(10, 0.90 + 0.01 * i), .b = arrived(10, 0.91 + 0.01 * i)});
  }
  const Judgement judged = judge(pairs, accuracy, std::nullopt, Looks::fixed(3));
  CHECK(judged.quality == Quality::unclear);
  const double half = 4.30265 * 0.01 / std::sqrt(6.0 * 3);
  CHECK_THAT(judged.difference.low, WithinAbs(0.01 - half, 1e-6));
}

TEST_CASE("the distance of two counts is found where none of them are neighbours") {
  // Multiples of 1/700: 630, 632, 635, 645.
  std::vector<Pair> pairs;
  for (const double a : {630, 635, 632}) pairs.push_back({.a = arrived(10, a / 700), .b = arrived(10, (a + 10) / 700)});
  const Judgement judged = judge(pairs, accuracy, std::nullopt, Looks::fixed(3));
  CHECK_THAT(judged.difference.mean - judged.difference.low, WithinAbs(4.30265 / 700 / std::sqrt(18.0), 1e-6));
}

TEST_CASE("equal trainings of a continuous metric are certain") {
  const Judgement judged = judge(pairs_of({1, 1, 1, 1, 1}, none), accuracy, 1e-6, Looks::planned());
  CHECK(judged.quality == Quality::not_worse);
}

TEST_CASE("a training without a value stays out of the quality, not out of the speed") {
  std::vector<Pair> pairs = pairs_of({0.5, 0.52, 0.49, 0.51, 0.48, 0.5}, {.012, .008, .015, .004, .011, 9});
  pairs[5].b = {.seconds = 3, .best = NAN, .has_failed = true};
  const Judgement judged = judge(pairs, accuracy, std::nullopt, Looks::any_time());
  CHECK(judged.without_value == 1);
  CHECK_THAT(judged.difference.mean, WithinAbs(0.01, 1e-12));
  CHECK(judged.b.failed == 1);
  CHECK(judged.b.arrived == 5);
  CHECK(judged.pairs == 6);
}

TEST_CASE("where no pair delivers a value, nobody knows how many pairs would") {
  std::vector<Pair> pairs = pairs_of({0.5, 0.52, 0.49, 0.51, 0.48}, none);
  for (Pair& pair : pairs) pair.b.value = std::nullopt;
  const Judgement judged = judge(pairs, accuracy, 0.01, Looks::planned());
  CHECK(judged.speed == Speed::faster);
  CHECK(judged.quality == Quality::unclear);
  CHECK_FALSE(judged.is_clear);
  CHECK(pairs_needed(judged.effect, 1000) == 1000);
}

TEST_CASE("between two looks nothing is told, however large the difference") {
  const std::vector<double> shares{0.5, 0.52, 0.49, 0.51, 0.48, 0.5};
  for (const Looks& looks : {Looks::planned(), Looks::fixed(20)}) {
    const Judgement judged = judge(pairs_of(shares, {.1, .11, .1, .12, .1, .09}), accuracy, 0.1, looks);
    CHECK(judged.speed == Speed::unclear);
    CHECK(judged.quality == Quality::unclear);
    CHECK(judged.p == 1);
    CHECK_FALSE(judged.is_clear);
    CHECK_THAT(judged.ratio.mean, WithinAbs(2, 0.01));
    CHECK(judged.ratio.low == 0);
    CHECK(std::isinf(judged.ratio.high));
    CHECK(std::isinf(judged.difference.low));
  }
}

TEST_CASE("with one or two pairs nothing is told") {
  for (const std::size_t count : {0, 1, 2}) {
    std::vector<Pair> pairs = pairs_of(std::vector<double>(count, 0.1), std::vector<double>(count, 0.3));
    for (const Looks& looks : {Looks::planned(), Looks::any_time()}) {
      const Judgement judged = judge(pairs, accuracy, 0.1, looks);
      CHECK(judged.speed == Speed::unclear);
      CHECK(judged.quality == Quality::unclear);
      CHECK(judged.p == 1);
      CHECK_FALSE(judged.is_clear);
    }
  }
}

}  // namespace trainlab::judgement_test
