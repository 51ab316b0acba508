// The description of its trainings that a sweep gives to commands that measure one of them.
#include <catch2/catch.hpp>

#include "sweep_support.h"

namespace trainlab::trainings_test {

using namespace test;

TEST_CASE("validations decide about the trials of a pruner and of a scheduler, and about no others") {
  const RunSettings settings = cpu_settings();
  const auto decide = [&](const std::string& more) {
    return SweepPlan(sweep(R"(, "trials": 4)" + more), settings).trainings().validations_decide;
  };
  CHECK_FALSE(decide(""));
  CHECK(decide(R"(, "pruner": {"@": "pruner.median"})"));
  CHECK(decide(R"(, "scheduler": {"@": "scheduler.asha", "max": 4})"));
}

}  // namespace trainlab::trainings_test
