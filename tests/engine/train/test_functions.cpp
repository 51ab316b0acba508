// Losses and metrics written by a recipe, with native functions in their place.
#include <ATen/ops/scalar_tensor.h>

#include <catch2/catch.hpp>

#include "data/batch_object.h"
#include "support/fit_support.h"
#include "tensor/tensor_object.h"
#include "train/group.h"

namespace trainlab::functions_test {

using namespace test;

namespace {

using Arguments = std::span<const Argument>;
using Results = std::vector<Argument>;

const at::Tensor& tensor_at(Arguments arguments, std::size_t i) {
  return dynamic_cast<TensorObject&>(*std::get<std::shared_ptr<Object>>(arguments[i])).tensor;
}
BatchObject& batch_at(Arguments arguments, std::size_t i) {
  return dynamic_cast<BatchObject&>(*std::get<std::shared_ptr<Object>>(arguments[i]));
}
Argument tensor(const at::Tensor& t) { return std::make_shared<TensorObject>(t); }

at::Tensor cross_entropy(const at::Tensor& out, const at::Tensor& y) {
  return out.log_softmax(-1).gather(1, y.unsqueeze(1)).neg().mean();
}

const char* function = R"({"@": "function", "index": 0, "@at": "native:1"})";

std::string fit_with(const std::string& loss, const std::string& metrics, const std::string& more = "") {
  const bool steps = more.find("steps") != std::string::npos;
  std::string json = digits_fit((steps ? "" : R"(, "epochs": 2)") + more);
  json.replace(json.find(R"("cross_entropy")"), 15, loss);
  const std::string before = R"(["accuracy"])";
  json.replace(json.find(before), before.size(), metrics);
  return json;
}

Value run(const std::string& json, std::vector<std::shared_ptr<Callable>> functions) {
  const TemporaryFolder folder;
  return run_one(parse_options(json, std::move(functions)), folder.path());
}

std::string loss_error(std::function<Results(Arguments)> body) {
  return error_of([&] { run(fit_with(function, R"(["accuracy"])"), {native(std::move(body))}); });
}

}  // namespace

TEST_CASE("a loss written in the recipe trains as the native one") {
  const Value own = run(fit_with(function, R"(["accuracy"])"), {native([](Arguments a) -> Results {
                          const BatchObject& batch = batch_at(a, 1);
                          CHECK(batch.size == tensor_at(a, 0).size(0));
                          CHECK(batch.index.numel() == batch.size);
                          return {tensor(cross_entropy(tensor_at(a, 0), batch.columns.at("y")))};
                        })});
  const Value native_loss = run(fit_with(R"("cross_entropy")", R"(["accuracy"])"), {});
  CHECK(own["metrics"]["val.loss"].number() == Approx(native_loss["metrics"]["val.loss"].number()).epsilon(1e-5));
  CHECK(own["metrics"]["val.accuracy"].number() == native_loss["metrics"]["val.accuracy"].number());
}

TEST_CASE("the count of a loss weights its batches") {
  const auto constant = [](double first, double second) {
    return native([=, calls = 0](Arguments a) mutable -> Results {
      const at::Tensor value = tensor_at(a, 0).sum().mul(0);
      return ++calls == 1 ? Results{tensor(value.add(first)), Value(1)} : Results{tensor(value.add(second)), Value(3)};
    });
  };
  const Value summary = run(fit_with(function, "[]", R"(, "steps": 2)"), {constant(8, 4)});
  CHECK(summary["metrics"]["train.loss"].number() == Approx((1 * 8.0 + 3 * 4.0) / 4));
}

TEST_CASE("what is no loss is refused at the function's line") {
  CHECK_THAT(loss_error([](Arguments a) -> Results { return {tensor(tensor_at(a, 0))}; }),
             Catch::Contains("native:1: ") && Catch::Contains("a scalar tensor") && Catch::Contains("[64, 10]") &&
                 Catch::Contains(":mean()"));
  CHECK_THAT(loss_error([](Arguments) -> Results { return {}; }), Catch::Contains("found nothing"));
  CHECK_THAT(loss_error([](Arguments) -> Results { return {Value(1.5)}; }),
             Catch::Contains("found a number") && Catch::Contains(":item()"));
  CHECK_THAT(loss_error([](Arguments) -> Results { return {Value("x")}; }), Catch::Contains("found \"x\""));
  CHECK_THAT(loss_error([](Arguments) -> Results { return {tensor(at::scalar_tensor(1.0))}; }),
             Catch::Contains("does not depend on the model's parameters"));
}

TEST_CASE("metrics written in the recipe are averaged by sample, or kept in a state") {
  const auto size = native([](Arguments a) -> Results { return {Value(static_cast<double>(batch_at(a, 1).size))}; });
  const auto right = native([](Arguments a) -> Results {
    return {tensor(tensor_at(a, 0).argmax(1).eq(batch_at(a, 1).columns.at("y")).to(at::kFloat).mean())};
  });
  const auto init = native([](Arguments) -> Results { return {Value(0)}; });
  const auto count =
      native([](Arguments a) -> Results { return {Value(std::get<Value>(a[0]).integer() + batch_at(a, 2).size)}; });
  const auto compute = native([](Arguments a) -> Results { return {std::get<Value>(a[0])}; });
  const std::string metrics = R"(["accuracy", {"@": "function", "index": 0},
    {"name": "right", "goal": "max", "update": {"@": "function", "index": 1}},
    {"name": "samples", "init": {"@": "function", "index": 2}, "update": {"@": "function", "index": 3},
     "compute": {"@": "function", "index": 4}}])";
  const Value summary =
      run(fit_with(R"("cross_entropy")", metrics, R"(, "monitor": "val.right")"), {size, right, init, count, compute});
  const Value& values = summary["metrics"];
  CHECK(values["val.metric_2"].number() == 179);
  CHECK(values["val.right"].number() == Approx(values["val.accuracy"].number()));
  CHECK(values["val.samples"].number() == 179);
  CHECK(summary["best"]["metric"] == Value("val.right"));
}

TEST_CASE("tables of metrics are checked, and a monitor needs their direction") {
  const auto error = [](const std::string& metrics, const std::string& more = "") {
    const auto nothing = native([](Arguments) -> Results { return {Value(1)}; });
    return error_of(
        [&] { plan_fit(parse_options(fit_with(R"("cross_entropy")", metrics, more), {nothing}), test_settings()); });
  };
  const std::string update = R"("update": {"@": "function", "index": 0})";
  CHECK_THAT(error(R"([{"name": "a b", )" + update + "}]"), Catch::Contains("fit.metrics[1].name"));
  CHECK_THAT(error(R"([{"name": "a", "init": {"@": "function", "index": 0}, )" + update + "}]"),
             Catch::Contains("fit.metrics[1].compute") && Catch::Contains("go together"));
  CHECK_THAT(error(R"([{"name": "accuracy", )" + update + R"(}, "accuracy"])"),
             Catch::Contains("two metrics are named accuracy"));
  CHECK_THAT(error(R"([{"name": "a", )" + update + "}]", R"(, "monitor": "val.a")"),
             Catch::Contains("declares no better direction") && Catch::Contains("goal"));
  CHECK(error(R"([{"name": "a", )" + update + "}]", R"(, "monitor": "val.a", "goal": "max")").empty());
}

TEST_CASE("a sum's parts are metrics of their own") {
  const Value summary =
      run(fit_with(R"({"@": "loss.sum", "losses": ["cross_entropy", {"@": "loss.hinge", "weight": 0.5}]})",
                   R"(["report"])"),
          {});
  const Value& values = summary["metrics"];
  for (const std::string split : {"train", "val", "test"}) {
    CHECK(values[split + ".loss"].number() ==
          Approx(values[split + ".loss.cross_entropy"].number() + 0.5 * values[split + ".loss.hinge"].number()));
  }
  for (const char* name : {"val.report", "test.report"}) {
    const Value& report = summary["reports"][name];
    REQUIRE(report["matrix"].list().size() == 10);
    std::int64_t samples = 0;
    for (std::size_t c = 0; c < 10; ++c) {
      std::int64_t row = 0;
      for (const Value& cell : report["matrix"].list()[c].list()) row += cell.integer();
      CHECK(report["classes"].list()[c]["samples"].integer() == row);
      samples += row;
    }
    CHECK(samples == 179 + (name[0] == 't'));
  }
}

}  // namespace trainlab::functions_test
