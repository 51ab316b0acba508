// The next token of a language model: temperature, top-k, nucleus, against closed forms.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "predict/sampling.h"

namespace trainlab::sampling_test {

namespace {

using Probabilities = std::vector<double>;

// Scores whose softmax is these.
Probabilities logs(const Probabilities& probabilities) {
  Probabilities scores;
  for (const double p : probabilities) scores.push_back(std::log(p));
  return scores;
}

void check_near(const Probabilities& found, const Probabilities& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == Approx(expected[i]).margin(1e-15));
}

}  // namespace

TEST_CASE("scores become probabilities by softmax of score / temperature") {
  const Probabilities scores = logs({0.5, 0.125, 0.25, 0.125});
  check_near(next_probabilities(scores, {.temperature = 1}), {0.5, 0.125, 0.25, 0.125});
  // Halved, a temperature squares the probabilities: 16 : 1 : 4 : 1.
  check_near(next_probabilities(scores, {.temperature = 0.5}), {16.0 / 22, 1.0 / 22, 4.0 / 22, 1.0 / 22});
  // A constant added to all scores changes nothing, however large.
  Probabilities shifted = scores;
  for (double& score : shifted) score += 1000;
  check_near(next_probabilities(shifted, {.temperature = 1}), {0.5, 0.125, 0.25, 0.125});
}

TEST_CASE("a temperature of 0 takes the best score, of equal ones the first") {
  check_near(next_probabilities(Probabilities{1, 3, 3, 2}, {.temperature = 0, .top_k = 3, .top_p = 0.1}), {0, 1, 0, 0});
}

TEST_CASE("top k keeps the k most probable, of equal ones the first") {
  const Probabilities scores = logs({0.125, 0.5, 0.125, 0.25});
  check_near(next_probabilities(scores, {.temperature = 1, .top_k = 1}), {0, 1, 0, 0});
  check_near(next_probabilities(scores, {.temperature = 1, .top_k = 2}), {0, 2.0 / 3, 0, 1.0 / 3});
  check_near(next_probabilities(scores, {.temperature = 1, .top_k = 3}), {1.0 / 7, 4.0 / 7, 0, 2.0 / 7});
  check_near(next_probabilities(scores, {.temperature = 1, .top_k = 9}), {0.125, 0.5, 0.125, 0.25});
}

TEST_CASE("top p keeps the smallest set that has the probability, after top k") {
  const Probabilities scores = logs({0.125, 0.5, 0.125, 0.25});
  check_near(next_probabilities(scores, {.temperature = 1, .top_p = 0.1}), {0, 1, 0, 0});
  check_near(next_probabilities(scores, {.temperature = 1, .top_p = 0.6}), {0, 2.0 / 3, 0, 1.0 / 3});
  check_near(next_probabilities(scores, {.temperature = 1, .top_p = 0.8}), {1.0 / 7, 4.0 / 7, 0, 2.0 / 7});
  check_near(next_probabilities(scores, {.temperature = 1, .top_p = 1}), {0.125, 0.5, 0.125, 0.25});
  // Among the two that top k leaves, the first has 2/3 and is enough for 0.6.
  check_near(next_probabilities(scores, {.temperature = 1, .top_k = 2, .top_p = 0.6}), {0, 1, 0, 0});
}

TEST_CASE("a draw inverts the cumulative probabilities and never gives what has none") {
  const Probabilities probabilities{0, 0.25, 0, 0.75, 0};
  CHECK(draw(probabilities, 0) == 1);
  CHECK(draw(probabilities, 0.2499) == 1);
  CHECK(draw(probabilities, 0.25) == 3);
  CHECK(draw(probabilities, std::nextafter(1.0, 0.0)) == 3);
  CHECK(draw(Probabilities{0.5, 0.4, 0}, 0.95) == 1);  // a sum below 1 by rounding
}

TEST_CASE("scores that are not finite are refused") {
  CHECK_THROWS_AS(next_probabilities(Probabilities{1, std::numeric_limits<double>::quiet_NaN()}, {}), Error);
}

}  // namespace trainlab::sampling_test
