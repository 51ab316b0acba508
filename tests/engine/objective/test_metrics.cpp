// Metrics against their definitions (tests/golden/metric_golden.py), in batches of any size.
#include <ATen/ops/stack.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include "embedded/golden_parts.h"
#include "parts_support.h"
#include "support/stand_in_device.h"

namespace trainlab::metrics_test {

using namespace test;

namespace {

void feed(Metric& metric, const at::Tensor& out, const at::Tensor& target, std::int64_t batch) {
  for (std::int64_t first = 0; first < out.size(0); first += batch) {
    const std::int64_t size = std::min(batch, out.size(0) - first);
    update(metric, out.narrow(0, first, size), target.narrow(0, first, size));
  }
}

at::Tensor scores(const char* json) { return tensor_of(parse_json(json, "scores"), at::kFloat); }
at::Tensor labels(const char* json) { return tensor_of(parse_json(json, "labels"), at::kLong); }

double value_of(const std::string& json, const at::Tensor& out, const at::Tensor& target, std::int64_t classes) {
  const auto metric = make_metric(part(json, "metrics"), head_of(out, target, classes));
  update(*metric, out, target);
  return metric->compute().at(0);
}

std::string refused(const std::string& json, const at::Tensor& out, const at::Tensor& target, std::int64_t classes) {
  return error_of([&] { make_metric(part(json, "metrics"), head_of(out, target, classes)); });
}

}  // namespace

TEST_CASE("metrics equal their definitions, whatever the batches") {
  const Value golden = parse_json(embedded::golden_parts::metric_golden_json(), "metric_golden.json");
  REQUIRE(golden["cases"].list().size() == 82);
  for (const Value& row : golden["cases"].list()) {
    INFO(to_json(row));
    const Value& data = golden["data"][row["data"].string()];
    const at::Tensor out = tensor_of(data["out"], at::kDouble);
    const at::Tensor target = tensor_of(data["target"], data["integer_target"].boolean() ? at::kLong : at::kDouble);
    const Options options = part(to_json(row["entry"]), "metrics");
    CHECK(parts_registry().implementation<MetricKind>(options.entry()).name(options) == row["name"].string());

    const auto metric = make_metric(options, head_of(out, target, data["classes"].integer()));
    CHECK(std::isnan(metric->compute().at(0)));
    for (const std::int64_t batch : {64, 10, 1}) {
      metric->reset();
      feed(*metric, out, target, batch);
      REQUIRE(metric->compute().size() == 1);
      CHECK(metric->compute()[0] == Approx(row["value"].number()).epsilon(1e-12).margin(1e-15));
    }
    metric->reset();
    CHECK(std::isnan(metric->compute().at(0)));
  }
}

TEST_CASE("outputs that are not finite end no metric, and leave no trace after a reset") {
  const Value golden = parse_json(embedded::golden_parts::metric_golden_json(), "metric_golden.json");
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  for (const Value& row : golden["cases"].list()) {
    INFO(to_json(row));
    const Value& data = golden["data"][row["data"].string()];
    const at::Tensor out = tensor_of(data["out"], at::kDouble);
    const at::Tensor target = tensor_of(data["target"], data["integer_target"].boolean() ? at::kLong : at::kDouble);
    const auto metric =
        make_metric(part(to_json(row["entry"]), "metrics"), head_of(out, target, data["classes"].integer()));
    for (const double bad : {nan, infinity, -infinity}) {
      at::Tensor one = out.clone(), all = out.clone().fill_(bad);
      one[0].fill_(bad);
      for (const at::Tensor& broken : {one, all}) {
        metric->reset();
        feed(*metric, broken, target, 10);
        REQUIRE(metric->compute().size() == 1);
        (void)metric->report(0);
        if (row["name"].string() == "ece" && std::isnan(bad)) CHECK(std::isnan(metric->compute()[0]));
      }
    }
    metric->reset();
    feed(*metric, out, target, 10);
    CHECK(metric->compute()[0] == Approx(row["value"].number()).epsilon(1e-12).margin(1e-15));
  }
}

TEST_CASE("a position that is ignored may have any output") {
  const at::Tensor out = scores("[[2, 0], [0, 1], [3, 0]]"), target = labels("[0, 0, -1]");
  at::Tensor broken = out.clone();
  broken[2].fill_(std::nan(""));
  for (const std::string name : {"ece", "log_loss", "accuracy", "f1", "auc"}) {
    INFO(name);
    const std::string entry = R"({"@": "metric.)" + name + R"(", "ignore_index": -1})";
    const double clean = value_of(entry, out, target, 2), dirty = value_of(entry, broken, target, 2);
    CHECK((clean == dirty || (std::isnan(clean) && std::isnan(dirty))));
  }
}

TEST_CASE("a metric takes outputs that carry gradients and leaves them alone") {
  const at::Tensor out = scores("[[1, 2], [3, 1]]").requires_grad_(true);
  CHECK(value_of(R"({"@": "metric.accuracy"})", out, labels("[1, 1]"), 2) == 0.5);
  CHECK_FALSE(out.grad().defined());
}

TEST_CASE("of equal scores the first class is the guess, in accuracy and in top-k") {
  const at::Tensor out = scores("[[0, 0, 0], [0, 0, 0], [0, 0, 0]]");
  CHECK(value_of(R"({"@": "metric.accuracy"})", out, labels("[0, 1, 2]"), 3) == Approx(1.0 / 3));
  CHECK(value_of(R"({"@": "metric.top_k", "k": 1})", out, labels("[0, 1, 2]"), 3) == Approx(1.0 / 3));
  CHECK(value_of(R"({"@": "metric.top_k", "k": 2})", out, labels("[0, 1, 2]"), 3) == Approx(2.0 / 3));
}

TEST_CASE("labels of a model that is sure and right but for them are wrong by the share that was flipped") {
  // One of each two labels of the second class says the first.
  const at::Tensor out = scores("[[9,0,0],[9,0,0],[0,9,0],[0,9,0],[0,9,0],[0,9,0],[0,0,9],[0,0,9]]");
  const char* const entry = R"({"@": "metric.label_noise"})";
  CHECK(value_of(entry, out, labels("[0,0,1,1,1,1,2,2]"), 3) == Approx(0).margin(1e-12));
  CHECK(value_of(entry, out, labels("[0,0,0,0,1,1,2,2]"), 3) == Approx(2.0 / 8));
  // A class that no label names has no samples.
  CHECK(value_of(entry, out, labels("[0,0,1,1,1,1,1,1]"), 3) == Approx(0).margin(1e-12));
}

TEST_CASE("scores that are not numbers are never right in top-k") {
  at::Tensor out = scores("[[0, 0, 0], [5, 9, 1]]");
  out[0].fill_(std::nan(""));
  CHECK(value_of(R"({"@": "metric.top_k", "k": 2})", out, labels("[1, 1]"), 3) == 0.5);
  out[1][0].fill_(std::nan(""));  // takes a place before the label
  CHECK(value_of(R"({"@": "metric.top_k", "k": 1})", out, labels("[1, 1]"), 3) == 0.0);
}

TEST_CASE("one logit takes labels as integers or as numbers, with or without an axis") {
  const at::Tensor out = scores("[[2], [-1], [0.5], [-3]]");
  const at::Tensor flat = labels("[1, 0, 0, 1]");
  for (const at::Tensor& target : {flat, flat.unsqueeze(1), flat.to(at::kFloat), flat.to(at::kFloat).unsqueeze(1)}) {
    CHECK(value_of(R"({"@": "metric.accuracy"})", out, target, 2) == 0.5);
    CHECK(value_of(R"({"@": "metric.precision"})", out, target, 2) == 0.5);
    CHECK(value_of(R"({"@": "metric.recall"})", out, target, 2) == 0.5);
  }
}

TEST_CASE("r2 keeps its digits where squares of the targets would not") {
  // Targets of 1e9 + 1, 2, …: a difference of two sums of squares has no correct digit left in float64.
  Value::List truth, guess;
  for (int i = 0; i < 100; ++i) {
    truth.emplace_back(1e9 + i);
    guess.emplace_back(Value::List{Value(1e9 + i + 1)});
  }
  const at::Tensor out = tensor_of(Value(guess), at::kDouble), target = tensor_of(Value(truth), at::kDouble);
  const auto metric = make_metric(part(R"({"@": "metric.r2"})", "metrics"), head_of(out, target, 0));
  feed(*metric, out, target, 7);
  CHECK(metric->compute().at(0) == Approx(1 - 100.0 / 83325.0).epsilon(1e-12));
}

TEST_CASE("r2 of a single sample is unknown") {
  const at::Tensor out = scores("[[1]]"), target = scores("[1]");
  CHECK(std::isnan(value_of(R"({"@": "metric.r2"})", out, target, 0)));
}

TEST_CASE("metrics refuse heads that they cannot judge") {
  const at::Tensor three = scores("[[1, 2, 3]]"), label = labels("[1]");
  CHECK_THAT(refused(R"({"@": "metric.accuracy"})", three, label, 10),
             Catch::Contains("fit.metrics: metric.accuracy needs") && Catch::Contains("[3]") &&
                 Catch::Contains("nn.Linear(10)"));
  CHECK_THAT(refused(R"({"@": "metric.f1"})", three, three, 0),
             Catch::Contains("class labels") && Catch::Contains("\"r2\""));
  CHECK_THAT(refused(R"({"@": "metric.r2"})", three, label, 3),
             Catch::Contains("numbers as targets") && Catch::Contains("\"accuracy\""));
  CHECK_THAT(refused(R"({"@": "metric.top_k", "k": 4})", three, label, 3),
             Catch::Contains("fit.metrics.k") && Catch::Contains("3, found 4"));
  CHECK_THAT(refused(R"({"@": "metric.recall", "average": 3})", three, label, 3),
             Catch::Contains("fit.metrics.average") && Catch::Contains("from 0 to 2"));
}

TEST_CASE("a metric reads the column that its target names, alone and in a group") {
  const at::Tensor out = scores("[[2, 0, 1], [0, 1, 5], [3, 0, 0]]");
  const at::Tensor y = labels("[0, 0, 0]"), part_of = labels("[0, 1, 0]");
  const at::Tensor sizes = scores("[[2, 0, 1], [0, 1, 5], [3, 0, 3]]");
  Head head = head_of(out, y, 2);  // the number of classes is known of y only
  head.columns.push_back({.name = "part", .shape = {}, .type = at::kLong});
  head.columns.push_back({.name = "sizes", .shape = {3}, .type = at::kFloat});
  const std::vector<std::pair<std::string, double>> wanted = {{R"("metric.accuracy", "target": "part")", 2.0 / 3},
                                                              {R"("metric.top_k", "k": 2, "target": "part")", 1.0},
                                                              {R"("metric.mae", "target": "sizes")", 1.0 / 3},
                                                              {R"("metric.rmse", "target": "sizes")", 1.0}};
  for (const auto& [entry, value] : wanted) {
    INFO(entry);
    const Options options = part("{\"@\": " + entry + "}", "metrics");
    const std::string name = parts_registry().implementation<MetricKind>(options.entry()).name(options);
    CHECK(name.ends_with("_" + options.string("target")));
    std::vector<at::Tensor> columns;
    for (const at::Tensor& column : {y, part_of, sizes}) columns.push_back(column.to(test_device()));
    const auto alone = make_metric(options, head), group = make_metric(options, head, 2);
    alone->update(out.to(test_device()), {.columns = columns, .index = {}, .size = 3});
    CHECK(alone->compute().at(0) == Approx(value));
    group->update(at::stack({out, out}).to(test_device()), {.columns = columns, .index = {}, .size = 3, .members = 2});
    CHECK(group->compute().at(1) == alone->compute().at(0));
  }
  for (const Entry* entry : parts_registry().of_kind("metric")) {
    INFO(entry->name);
    const Options options = part(R"({"@": ")" + entry->name + R"(", "target": "size"})", "metrics");
    CHECK_THAT(error_of([&] { make_metric(options, head); }),
               Catch::Contains("fit.metrics.target: the data has no column \"size\"; its columns are y, part, sizes") &&
                   Catch::Contains("did you mean \"sizes\"?"));
  }
}

TEST_CASE("directions are declared") {
  const auto minimize = [](const char* name) {
    return parts_registry().implementation<MetricKind>(*parts_registry().find(name)).minimize;
  };
  for (const char* name : {"metric.mae", "metric.rmse"}) CHECK(minimize(name));
  for (const char* name :
       {"metric.accuracy", "metric.top_k", "metric.precision", "metric.recall", "metric.f1", "metric.r2"})
    CHECK_FALSE(minimize(name));
}

}  // namespace trainlab::metrics_test
