// The description of its trainings that a sweep gives to commands that measure one of them.
#include <catch2/catch.hpp>

#include "plan/ensemble_plan.h"
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

TEST_CASE("trainings are no more than there are points, and workers no more than there are trials") {
  RunSettings settings = cpu_settings();
  settings.workers = 8;
  const auto of = [&](const std::string& more) { return SweepPlan(sweep(more), settings).trainings(); };
  const auto one_wave = [](std::int64_t trials) { return std::vector{TrainingWave{.trials = trials}}; };
  CHECK((of(R"(, "trials": 40, "seeds": 3)").waves == one_wave(40)));
  CHECK(of(R"(, "trials": 40)").workers == 8);
  CHECK(of(R"(, "trials": 3, "seeds": 5)").workers == 3);
  CHECK(of(R"(, "time": "1 h")").waves.empty());
  const std::string grid = R"(, "sampler": {"@": "sampler.grid", "points": 5})";
  CHECK((of(grid).waves == one_wave(5)));
  CHECK(of(grid).workers == 5);
  CHECK((of(R"(, "trials": 3)" + grid).waves == one_wave(3)));
  CHECK((of(R"(, "enqueue": [{"lr": 0.5}])" + grid).waves == one_wave(6)));
}

TEST_CASE("a search may end trainings early, or leave some out") {
  const RunSettings settings = cpu_settings();
  const auto may_be_fewer = [&](const std::string& more) {
    return SweepPlan(sweep(more), settings).trainings().may_be_fewer;
  };
  CHECK_FALSE(may_be_fewer(R"(, "trials": 4)"));
  CHECK(may_be_fewer(R"(, "trials": 4, "pruner": {"@": "pruner.median"})"));
  CHECK(may_be_fewer(R"(, "trials": 4, "scheduler": {"@": "scheduler.asha", "max": 4})"));
  CHECK_FALSE(may_be_fewer(R"(, "trials": 4, "scheduler": {"@": "scheduler.hyperband", "max": 4})"));
  CHECK(may_be_fewer(R"(, "time": "1 h", "scheduler": {"@": "scheduler.hyperband", "max": 4})"));
  CHECK(may_be_fewer(R"(, "trials": 4, "seeds": 2)"));
  CHECK(may_be_fewer(R"(, "trials": 4, "duplicates": "reuse")"));
  CHECK(may_be_fewer(R"(, "trials": 4, "improvement": true)"));
  const std::string grid = R"(, "sampler": {"@": "sampler.grid", "points": 5})";
  CHECK_FALSE(may_be_fewer(grid));
  CHECK(may_be_fewer(R"(, "enqueue": [{"lr": 0.5}])" + grid));
}

TEST_CASE("trainings are those of trials, and those that follow all trials") {
  const RunSettings settings = cpu_settings();
  const StageTrainings confirmed =
      SweepPlan(sweep(R"(, "trials": 4, "seeds": 3, "confirm": {"top": 2, "seeds": 5})"), settings).trainings();
  CHECK((confirmed.waves == std::vector{TrainingWave{.trials = 4}}));
  CHECK(confirmed.repeats == 3);
  CHECK(confirmed.at_end == 2 * 5);
  CHECK(confirmed.share == 1);
}

TEST_CASE("trainings that a scheduler divides are as long as their segments") {
  const RunSettings settings = cpu_settings();
  const std::string halving =
      R"("scheduler": {"@": "scheduler.halving", "configurations": 4, "min": 1, "reduction": 2})";
  CHECK((SweepPlan(sweep(R"(, "trials": 9, )" + halving), settings).trainings().waves ==
         std::vector<TrainingWave>{{.trials = 4, .validations = 1},
                                   {.trials = 2, .validations = 1},
                                   {.trials = 1, .validations = 2},
                                   {.trials = 2, .validations = 1}}));
  CHECK(SweepPlan(sweep(R"(, "time": "1 h", )" + halving), settings).trainings().waves.empty());
}

TEST_CASE("a search may end before its own time where it may end without improvement") {
  const RunSettings settings = cpu_settings();
  const auto may_end_early = [&](const std::string& more) {
    return SweepPlan(sweep(R"(, "time": "1 h")" + more), settings).trainings().may_end_early;
  };
  CHECK_FALSE(may_end_early(""));
  CHECK_FALSE(may_end_early(R"(, "pruner": {"@": "pruner.median"})"));
  CHECK(may_end_early(R"(, "improvement": true)"));
}

TEST_CASE("a group holds whole trials, as many as a stack has room for") {
  const RunSettings settings = cpu_settings();
  const auto together = [&](const std::string& more) {
    return SweepPlan(sweep(R"(, "stack": 8)" + more), settings).trainings().together;
  };
  CHECK(together(R"(, "trials": 40)") == 8);
  CHECK(together(R"(, "trials": 5)") == 5);
  CHECK(together(R"(, "trials": 40, "seeds": 3)") == 6);
  CHECK(together(R"(, "trials": 40, "seeds": 9)") == 9);
  CHECK(together(R"(, "sampler": {"@": "sampler.grid", "points": 5})") == 5);
}

TEST_CASE("an ensemble keeps a part of its time for the predictions of the members together") {
  const RunSettings settings = cpu_settings();
  const StageTrainings trainings = EnsemblePlan(ensemble(R"(, "seeds": 6, "keep": 4)"), settings).trainings();
  CHECK((trainings.waves == std::vector{TrainingWave{.trials = 6}}));
  CHECK(trainings.share == 0.95);
  CHECK(trainings.predictions == 4);
}

}  // namespace trainlab::trainings_test
