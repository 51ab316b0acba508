// The floor of a loss, from labels of equal samples that are wrong with a known share.
#include <catch2/catch.hpp>
#include <cmath>

#include "core/random/stream.h"
#include "health/floor.h"

namespace trainlab::floor_test {

namespace {

// Labels of which a share `wrong` are another class than 0.
std::vector<std::vector<std::int64_t>> groups_of(std::size_t count, std::size_t size, std::int64_t classes,
                                                 double wrong, std::uint64_t seed) {
  Stream draws{Key(seed)};
  std::vector<std::vector<std::int64_t>> groups(count, std::vector<std::int64_t>(size));
  for (auto& labels : groups) {
    for (std::int64_t& label : labels) {
      const bool is_wrong = draws.uniform() < wrong;
      label = is_wrong ? 1 + static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(classes - 1))) : 0;
    }
  }
  return groups;
}

double floor_of(double wrong, double classes) {
  return -(1 - wrong) * std::log(1 - wrong) - wrong * std::log(wrong / (classes - 1));
}

}  // namespace

TEST_CASE("the share of wrong labels and the floor are found, and their intervals hold") {
  for (const std::int64_t classes : {2, 10}) {
    for (const double wrong : {0.05, 0.2, 0.4}) {
      int held = 0;
      for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        const auto found = label_floor(groups_of(400, 3, classes, wrong, seed), classes);
        REQUIRE(found);
        const double floor = floor_of(wrong, static_cast<double>(classes));
        held += found->low <= floor && floor <= found->high ? 1 : 0;
        if (seed == 1) {
          CHECK(found->groups == 400);
          CHECK(found->wrong_labels == Approx(wrong).margin(0.1));
        }
      }
      INFO(classes << " classes, " << wrong << " wrong");
      CHECK(held >= 180);  // of 190 expected
    }
  }
}

TEST_CASE("wrong labels that are all of one class leave a floor within the interval, whatever the other classes") {
  int held = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto found = label_floor(groups_of(300, 2, 2, 0.2, seed), 10);
    REQUIRE(found);
    held += found->low <= floor_of(0.2, 2) && floor_of(0.2, 2) <= found->high ? 1 : 0;
    CHECK(found->low < found->loss);
    CHECK(found->loss < found->high);
  }
  CHECK(held >= 180);
}

TEST_CASE("the deviation of a sample's loss at the least floor is that of the two losses that there are") {
  const std::vector<std::vector<std::int64_t>> groups = groups_of(400, 3, 2, 0.2, 1);
  const auto found = label_floor(groups, 2);
  REQUIRE(found);
  const double wrong = found->wrong_labels, of_right = -std::log(1 - wrong), of_wrong = -std::log(wrong);
  const double square = (1 - wrong) * of_right * of_right + wrong * of_wrong * of_wrong;
  CHECK(found->deviation == Approx(std::sqrt(square - found->loss * found->loss)));
  CHECK(found->deviation == Approx(0.55).margin(0.04));
  CHECK(label_floor(groups, 10)->deviation == found->deviation);
}

TEST_CASE("labels that do not differ, and few groups, say nothing") {
  CHECK_FALSE(label_floor(groups_of(400, 2, 10, 0, 1), 10));
  CHECK_FALSE(label_floor(groups_of(29, 2, 10, 0.4, 1), 10));
  CHECK_FALSE(label_floor(groups_of(400, 2, 10, 0.001, 3), 10));
  CHECK_FALSE(label_floor({}, 10));
}

TEST_CASE("labels that are drawn leave the loss of a model that knows nothing") {
  const auto found = label_floor(groups_of(2000, 4, 4, 0.75, 1), 4);
  REQUIRE(found);
  CHECK(found->loss == Approx(std::log(4)).epsilon(0.01));
  CHECK(found->high == Approx(std::log(4)));
}

}  // namespace trainlab::floor_test
