// The rules of health for the data.
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "healthy_run.h"

namespace trainlab::data_rules_test {

using namespace test;

TEST_CASE("a validation loss certainly below the floor of the labels is a verdict of its own") {
  const auto with_floor = [](double low, std::int64_t samples) {
    return [=](HealthFigures& f) {
      f.run.floor = LabelFloor{.loss = low + 0.05, .low = low, .high = low + 0.1, .deviation = 0.8};
      f.run.validation_samples = samples;
    };
  };
  CHECK(kinds_of(changed(HealthyRun{}, with_floor(0.1, 10'000))).empty());
  CHECK(kinds_of(changed(HealthyRun{}, with_floor(0.4, 10'000))) == Kinds{"below_floor"});
  CHECK(kinds_of(changed(HealthyRun{}, with_floor(0.4, 100))).empty());  // 1.7 standard errors, as chance may have it
  CHECK(
      judge(changed(HealthyRun{}, with_floor(0.4, 10'000)))
          .front()
          .evidence.starts_with("the validation loss is 0.262, with a standard error of 0.008 for the labels of 10000 "
                                "samples, and no model comes below 0.4 on data "));
}

TEST_CASE("each fault of the data has its own verdict") {
  SECTION("inputs that are too large, or far from 0") {
    CHECK(kinds_of(changed(HealthyRun{}, [](HealthFigures& f) {
            f.input = {.mean = 80, .deviation = 95, .root_mean_square = 124};
          })) == Kinds{"unnormalised_inputs"});
    CHECK(kinds_of(changed(HealthyRun{}, [](HealthFigures& f) {
            f.input = {.mean = 5, .deviation = 1, .root_mean_square = 5.1};
          })) == Kinds{"unnormalised_inputs"});
    CHECK(kinds_of(changed(HealthyRun{}, [](HealthFigures& f) {
            f.input = {.mean = 80, .deviation = 95, .root_mean_square = 124, .is_normalised = true};
          })).empty());
    const std::vector<HealthVerdict> constant = judge(
        changed(HealthyRun{}, [](HealthFigures& f) { f.input = {.mean = 0, .deviation = 0, .root_mean_square = 0}; }));
    REQUIRE(constant.size() == 1);
    CHECK(constant[0].evidence == "all inputs are 0");
    CHECK_THAT(constant[0].remedy, !Catch::Contains("normalize"));
  }
  SECTION("validation samples that are training samples too") {
    CHECK(kinds_of(changed(HealthyRun{}, [](HealthFigures& f) { f.run.shared = 0.3; })) == Kinds{"leakage"});
    CHECK(kinds_of(changed(HealthyRun{}, [](HealthFigures& f) { f.run.shared = f.run.repeated = 0.3; })).empty());
  }
  SECTION("labels of one class, or nearly") {
    CHECK(kinds_of(changed(HealthyRun{}, [](HealthFigures& f) {
            f.run.entropy = f.run.prior_loss = 0;
            f.run.largest_share = 1;
          })) == Kinds{"class_collapse"});
    const auto of_rare_class = [](bool is_weighted) {
      return kinds_of(changed(HealthyRun{}, [&](HealthFigures& f) {
        f.run.classes = 2;
        f.run.entropy = 0.2;  // of at most 0.69
        f.run.largest_share = 0.95;
        f.run.prior_loss = is_weighted ? unmeasured : 0.2;
        f.run.is_weighted = is_weighted;
      }));
    };
    CHECK(of_rare_class(false) == Kinds{"class_collapse"});
    CHECK(of_rare_class(true).empty());
  }
  SECTION("a loss below its floor") {
    HealthyRun run;
    run.loss = [](int i) { return 0.5 - 0.1 * i; };
    CHECK(kinds_of(run.figures()) == Kinds{"below_floor"});
  }
  SECTION("NaN in the batch") {
    CHECK(kinds_of(changed(HealthyRun{}, [](HealthFigures& f) {
            f.not_finite = NotFinite{.step = 30,
                                     .origin = "input",
                                     .path = "model[1].Linear",
                                     .text = "3 of 640 values of the batch are not finite"};
          })) == Kinds{"not_finite"});
  }
  SECTION("enormous values in a batch, which spoil the weights and the inputs' figures") {
    CHECK(kinds_of(changed(HealthyRun{}, [](HealthFigures& f) {
            f.outliers = NotFinite{
                .step = 30, .origin = "input", .path = "model[1].Linear", .text = "values of the batch go up to 1e+20"};
            f.not_finite = NotFinite{.step = 31, .origin = "weights", .path = "model[1].Linear", .text = "weights"};
            f.input = {.mean = 1e18, .deviation = 1e19, .root_mean_square = 1e19};
            f.measured.back().median_update = 30;
          })) == Kinds{"not_finite"});
  }
}

}  // namespace trainlab::data_rules_test
