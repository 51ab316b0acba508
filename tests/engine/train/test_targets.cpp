// What losses and metrics read of the data: labels that do not count, and columns of targets.
#include <catch2/catch.hpp>

#include "support/fit_support.h"
#include "train/fit_plan.h"

using namespace trainlab;
using namespace trainlab::test;

namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// The fit of digits with this loss and these metrics, and with a function of the recipe over the labels.
Options fit_of(const std::string& loss, const std::string& metrics, std::function<at::Tensor(const at::Tensor&)> labels,
               const std::string& more = R"(, "epochs": 1)") {
  std::string json = replaced(digits_fit(more), R"("cross_entropy")", loss);
  json = replaced(json, R"(["accuracy"])", metrics);
  const std::string split = json.substr(json.find(R"({"@": "data:split")"),
                                        json.find(",\n    \"model\"") - json.find(R"({"@": "data:split")"));
  json =
      replaced(json, split,
               R"({"@": "data:map", "source": )" + split + R"(, "column": "y", "run": {"@": "function", "index": 0}})");
  return parse_options(json, {native([labels](std::span<const Argument> arguments) -> std::vector<Argument> {
                         const auto object = std::get<std::shared_ptr<Object>>(arguments[0]);
                         const at::Tensor& rows = dynamic_cast<TensorObject&>(*object).tensor;
                         return {std::make_shared<TensorObject>(labels(rows))};
                       })});
}

// Every eight is marked with this label.
std::function<at::Tensor(const at::Tensor&)> eights_as(std::int64_t mark) {
  return [mark](const at::Tensor& y) { return y.masked_fill(y.eq(8), mark); };
}

std::string cross_entropy_without(std::int64_t mark) {
  return R"({"@": "loss.cross_entropy", "ignore_index": )" + std::to_string(mark) + "}";
}

Value run(const Options& fit) {
  const TemporaryFolder folder;
  return run_one(fit, folder.path());
}

std::string refused(const Options& fit) {
  return error_of([&] { plan_fit(fit, test_settings()); });
}

}  // namespace

TEST_CASE("any label may mark what does not count, and metrics leave out what the loss leaves out") {
  const Value wanted = run(fit_of(cross_entropy_without(8), R"([{"@": "metric.accuracy", "ignore_index": 8}])",
                                  [](const at::Tensor& y) { return y; }));
  for (const std::int64_t mark : {-1, -100, 255, 8}) {
    INFO(mark);
    const Options fit = fit_of(cross_entropy_without(mark), R"(["accuracy", "f1"])", eights_as(mark));
    CHECK(plan_fit(fit, test_settings()).head.classes == 10);
    const Value summary = run(fit);
    for (const char* name : {"train.loss", "val.loss", "test.loss", "val.accuracy", "test.accuracy"})
      CHECK(summary["metrics"][name] == wanted["metrics"][name]);
    CHECK(summary["metrics"]["val.f1"].number() > 0);
  }
}

TEST_CASE("an ignore_index of the metric's own comes before the loss's") {
  const Value summary = run(fit_of(cross_entropy_without(8), R"([{"@": "metric.report", "ignore_index": -100}])",
                                   [](const at::Tensor& y) { return y; }));
  CHECK(summary["reports"]["val.report"]["classes"].list()[8]["samples"].integer() > 0);
}

TEST_CASE("the highest label is a class where the model has a score for it") {
  CHECK(plan_fit(fit_of(cross_entropy_without(9), "[]", eights_as(9)), test_settings()).head.classes == 10);
}

TEST_CASE("labels below 0 that nothing leaves out are refused before training") {
  CHECK_THAT(refused(fit_of(R"("cross_entropy")", "[]", eights_as(-1))),
             Catch::Contains("fit.loss: expected labels from 0, found -1 in the data") &&
                 Catch::Contains("ignore_index = -1"));
  CHECK_THAT(refused(fit_of(cross_entropy_without(-100), "[]", eights_as(-1))), Catch::Contains("found -1"));
  CHECK_THAT(refused(fit_of(cross_entropy_without(-1), R"([{"@": "metric.f1", "ignore_index": 3}])", eights_as(-1))),
             Catch::Contains("fit.metrics[1].f1: expected labels from 0"));
  CHECK_THAT(refused(fit_of(R"({"@": "loss.hinge"})", "[]", eights_as(-1))),
             Catch::Contains("expected labels from 0") && !Catch::Contains("ignore_index"));
}

TEST_CASE("a second label below 0 is refused when it is met") {
  const auto two_marks = [](const at::Tensor& y) { return y.masked_fill(y.eq(8), -100).masked_fill(y.eq(7), -1); };
  CHECK_THAT(error_of([&] { run(fit_of(cross_entropy_without(-100), "[]", two_marks)); }),
             Catch::Contains("fit.loss") && Catch::Contains("-1"));
}
