// The loss of the best constant prediction, of fits whose targets are numbers and of texts.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "support/fit_support.h"
#include "support/temporary_folder.h"
#include "watch/constant_loss.h"
#include "watch/run_facts.h"

namespace trainlab::constant_loss_test {

using namespace test;

namespace {

FitPlan sine_plan(const std::string& loss, const std::string& more = "") {
  return plan_fit(parse_options(R"({"@": "fit", "name": "test", "data": {"@": "data:split", "source": {"@": "data.sine",
    "samples": 400, "frequency": 0.4}, "train": 0.5, "val": 0.5, "seed": 3}, "model": {"@": "nn.Linear",
    "out_features": 1}, "optim": {"@": "optim.SGD", "lr": 0.1}, "batch": 50, "epochs": 1, "loss": )" +
                                loss + more + "}"),
                  cpu_settings());
}

std::vector<double> targets_of(const Part& part) {
  const at::Tensor all = part.data->find("y")->values;
  std::vector<double> targets;
  for (std::int64_t i = 0; i < part.size(); ++i) targets.push_back(all[part.row(i)].item<double>());
  return targets;
}

using PointLoss = std::function<double(double error)>;

double mean_loss(const std::vector<double>& targets, const PointLoss& loss, double constant) {
  double sum = 0;
  for (const double target : targets) sum += loss(constant - target);
  return sum / static_cast<double>(targets.size());
}

// The best of 20,001 constants.
double best_of_grid(const std::vector<double>& targets, const PointLoss& loss) {
  double best = 0, least = std::numeric_limits<double>::infinity();
  for (int i = -10'000; i <= 10'000; ++i) {
    const double constant = i * 1e-4, mean = mean_loss(targets, loss, constant);
    if (mean < least) least = mean, best = constant;
  }
  return best;
}

}  // namespace

TEST_CASE("the best constant prediction of numbers has the loss that the formula of the loss gives") {
  const std::map<std::string, PointLoss> losses{
      {R"("mse")", [](double e) { return e * e; }},
      {R"("l1")", [](double e) { return std::abs(e); }},
      {R"({"@": "loss.huber", "delta": 0.3})",
       [](double e) { return std::abs(e) < 0.3 ? e * e / 2 : 0.3 * (std::abs(e) - 0.15); }},
      {R"({"@": "loss.smooth_l1", "beta": 0.5})",
       [](double e) { return std::abs(e) < 0.5 ? e * e : std::abs(e) - 0.25; }}};
  for (const auto& [name, loss] : losses) {
    INFO(name);
    const FitPlan plan = sine_plan(name);
    const std::vector<double> train = targets_of(plan.data.train), val = targets_of(*plan.data.val);
    const double best = best_of_grid(train, loss);
    const ConstantLoss found = constant_loss(plan);
    CHECK(found.train == Approx(mean_loss(train, loss, best)).epsilon(1e-5));
    CHECK(found.val == Approx(mean_loss(val, loss, best)).epsilon(1e-3));
  }
}

TEST_CASE("the constant loss of losses without a known best constant is unknown") {
  CHECK(std::isnan(constant_loss(sine_plan(R"("poisson_nll")")).train));
  CHECK(std::isnan(constant_loss(sine_plan(R"({"@": "loss.mse", "target": "x"})")).train));
  CHECK(std::isnan(constant_loss(plan_fit(parse_options(digits_fit(R"(, "epochs": 1)")), cpu_settings())).train));
}

TEST_CASE("the constant loss of a text is the entropy of its characters") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "a.txt").string();
  std::ofstream file(path);
  for (int i = 0; i < 4000; ++i) file << "aab\n"[i % 4];
  file.close();
  const FitPlan plan =
      plan_fit(parse_options(R"({"@": "fit", "name": "test", "data": {"@": "data:split", "val": 0.2, "source": {"@":
    "data.text", "path": ")" +
                             path +
                             R"(", "context": 8}}, "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Embedding",
    "num_embeddings": 3, "embedding_dim": 4}, {"@": "nn.Linear", "out_features": 3}]}, "loss": "cross_entropy",
    "optim": {"@": "optim.SGD", "lr": 0.1}, "batch": 16, "epochs": 1})"),
               cpu_settings());
  CHECK(constant_loss(plan).train == Approx(1.5 * std::log(2)).epsilon(1e-3));
}

TEST_CASE("the facts of a fit have whether its loss weighs classes") {
  const auto weighs = [](const std::string& loss) {
    const FitPlan plan = plan_fit(
        parse_options(R"({"@": "fit", "name": "test", "data": {"@": "data:split", "source": {"@": "data.digits"},
          "train": 0.6, "val": 0.2}, "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"}, {"@": "nn.Linear",
          "out_features": 10}]}, "optim": {"@": "optim.SGD", "lr": 0.1}, "batch": 50, "epochs": 1, "loss": )" +
                      loss + "}"),
        cpu_settings());
    return run_facts(plan, {}).is_weighted;
  };
  CHECK_FALSE(weighs(R"("cross_entropy")"));
  CHECK_FALSE(weighs(R"({"@": "loss.cross_entropy", "label_smoothing": 0.1})"));
  const std::string balanced = R"({"@": "loss.cross_entropy", "class_weights": "balanced"})";
  CHECK(weighs(balanced));
  CHECK(weighs(R"({"@": "loss.sum", "losses": [)" + balanced + "]}"));
}

}  // namespace trainlab::constant_loss_test
