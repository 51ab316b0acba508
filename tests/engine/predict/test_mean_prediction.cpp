// Several models together: the mean of their probabilities, in what they predict and in what is measured of it.
#include "predict/mean_prediction.h"

#include <ATen/ops/add.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/div.h>
#include <ATen/ops/item.h>
#include <ATen/ops/mul.h>

#include <array>
#include <catch2/catch.hpp>

#include "predict/kept_weights.h"
#include "support/fit_support.h"
#include "tensor/types.h"

namespace trainlab::mean_prediction_test {

using namespace test;

namespace {

struct Trained {
  TemporaryFolder folder;
  Options fit;
  FitPlan plan;
  ModelFile file;
  NamedTensors weights;

  Trained(const std::string& json) : fit(parse_options(json)), plan(plan_fit(fit, test_settings())) {
    run_one(fit, folder.path());
    file = read_model(folder.path());
    weights = read_kept(folder.path(), file).weights;
  }
};

std::string one_epoch(int seed) {
  return digits_fit(R"(, "epochs": 1, "precision": "float64", "seed": )" + std::to_string(seed));
}

constexpr std::array<std::size_t, 1> first{0}, second{1};
constexpr std::array<std::size_t, 2> both{0, 1};

}  // namespace

TEST_CASE("a mean of classifiers is the mean of their probabilities") {
  const Trained a(one_epoch(1)), b(one_epoch(2));
  MeanPrediction mean(a.plan, *a.plan.data.test, "test", a.file);
  mean.add(*a.plan.model, a.weights);
  mean.add(*b.plan.model, b.weights);

  const at::Tensor expected = mean.predictions(first).add(mean.predictions(second)).div(2);
  CHECK(at::allclose(mean.predictions(both), expected, 1e-12));

  // The loss is the cross entropy of that mean, the accuracy that of its most probable class.
  const Part& part = *a.plan.data.test;
  double loss = 0, right = 0;
  for (std::int64_t i = 0; i < part.size(); ++i) {
    const std::array<std::int64_t, 1> row{i};
    const std::int64_t label = gather(part, row).columns[a.plan.head.target_column].item<std::int64_t>();
    loss -= std::log(expected[i][label].item<double>());
    right += expected[i].argmax().item<std::int64_t>() == label ? 1 : 0;
  }
  const auto metrics = mean.metrics(both);
  CHECK(metrics.at("test.loss") == Approx(loss / static_cast<double>(part.size())).epsilon(1e-10));
  CHECK(metrics.at("test.accuracy") == Approx(right / static_cast<double>(part.size())).epsilon(1e-10));
}

TEST_CASE("one model alone is measured as its fit measured it, and counts twice where it stands twice") {
  const Trained a(one_epoch(1)), b(one_epoch(2));
  MeanPrediction mean(a.plan, *a.plan.data.test, "test", a.file);
  mean.add(*a.plan.model, a.weights);
  mean.add(*b.plan.model, b.weights);
  const Value summary = run_one(a.fit, a.folder.path() / "again");
  CHECK(mean.metrics(first).at("test.loss") == Approx(summary["metrics"]["test.loss"].number()).epsilon(1e-12));
  const std::array<std::size_t, 3> twice{0, 0, 1};
  const at::Tensor expected = mean.predictions(first).mul(2).add(mean.predictions(second)).div(3);
  CHECK(at::allclose(mean.predictions(twice), expected, 1e-12));
}

}  // namespace trainlab::mean_prediction_test
