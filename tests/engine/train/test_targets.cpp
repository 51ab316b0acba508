// What losses and metrics read of the data: labels that do not count, and columns of targets.
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>

#include <catch2/catch.hpp>

#include <cmath>

#include "core/files.h"
#include "support/fit_support.h"
#include "tensor/safetensors.h"
#include "tensor/tensor_object.h"
#include "train/fit_plan.h"
#include "train/model_file.h"

namespace trainlab::targets_test {

using namespace test;

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
  for (const std::int64_t mark : std::initializer_list<std::int64_t>{-1, -100, 255, 8, 999'999, 1'000'000,
                                                                     4'294'967'296, std::int64_t{1} << 52}) {
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

TEST_CASE("labels that are too high for a class and that nothing leaves out are refused before training") {
  const auto high = eights_as(1'000'000);
  CHECK_THAT(refused(fit_of(R"("cross_entropy")", "[]", high)),
             Catch::Contains("fit.loss: expected labels from 0 to 9, found 1000000 in the data") &&
                 Catch::Contains("ignore_index = 1000000 leaves this label out; targets of a regression are floats"));
  CHECK_THAT(refused(fit_of(cross_entropy_without(1'000'000), R"([{"@": "metric.f1", "ignore_index": 3}])", high)),
             Catch::Contains("fit.metrics[1].f1: expected labels from 0 to 9"));
  CHECK_THAT(refused(fit_of(R"({"@": "loss.hinge"})", "[]", high)),
             Catch::Contains("found 1000000 in the data") && !Catch::Contains("ignore_index"));
}

TEST_CASE("a second label below 0 is refused when it is met") {
  const auto two_marks = [](const at::Tensor& y) { return y.masked_fill(y.eq(8), -100).masked_fill(y.eq(7), -1); };
  CHECK_THAT(error_of([&] { run(fit_of(cross_entropy_without(-100), "[]", two_marks)); }),
             Catch::Contains("fit.loss") && Catch::Contains("-1"));
}

namespace {

// A file with x [40, 4], labels z, numbers v [40, 3] and a weight of each sample; no y.
class Columns {
 public:
  explicit Columns(double weight = 1) : path_((folder_.path() / "set.safetensors").string()) {
    const at::Tensor x = at::arange(160, at::kFloat).reshape({40, 4}).remainder(7).div(7);
    save_safetensors(
        path_,
        {{"x", x}, {"z", at::arange(40).remainder(3)}, {"v", at::ones({40, 3})}, {"weight", at::full({40}, weight)}});
  }
  Options fit(const std::string& loss, const std::string& metrics) const {
    return parse_options(R"({"@": "fit", "name": "columns", "data": {"@": "data:split", "val": 0.25, "test": 0.25,
      "source": {"@": "data.safetensors", "path": ")" +
                         path_ + R"(", "more": ["z", "v", "weight"]}},
      "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Linear", "out_features": 3}]},
      "loss": )" + loss + R"(, "metrics": )" +
                         metrics + R"(, "optim": "SGD", "batch": 10, "epochs": 1})");
  }

 private:
  TemporaryFolder folder_;
  std::string path_;
};

}  // namespace

TEST_CASE("losses and metrics that name their targets need no y") {
  const Columns columns;
  const std::string sum = R"({"@": "loss.sum", "losses": [{"@": "loss.cross_entropy", "target": "z"},
                                                          {"@": "loss.mse", "target": "v"}]})";
  const Value summary = run(columns.fit(sum, R"([{"@": "metric.accuracy", "target": "z"},
                                                 {"@": "metric.rmse", "target": "v"}])"));
  for (const std::string part : {"val", "test"}) {
    CHECK(std::isfinite(summary["metrics"][part + ".accuracy_z"].number()));
    CHECK(summary["metrics"][part + ".rmse_v"].number() ==
          Approx(std::sqrt(summary["metrics"][part + ".loss.mse"].number())).epsilon(1e-5));
  }
}

TEST_CASE("a target that is not there is refused before training, with the columns that are") {
  const Columns columns;
  const std::string of_z = R"({"@": "loss.cross_entropy", "target": "z"})";
  const auto names = Catch::Contains("its columns are x, z, v, weight");
  CHECK_THAT(refused(columns.fit(R"("cross_entropy")", "[]")),
             Catch::Contains("fit.loss.target: the data has no column \"y\"") && names);
  CHECK_THAT(refused(columns.fit(of_z, R"(["accuracy"])")),
             Catch::Contains("fit.metrics[1].accuracy.target: the data has no column \"y\"") && names);
  CHECK_THAT(refused(columns.fit(of_z, R"([{"@": "metric.accuracy", "target": "zz"}])")),
             Catch::Contains("fit.metrics[1].accuracy.target: the data has no column \"zz\"") && names &&
                 Catch::Contains("did you mean \"z\"?"));
}

TEST_CASE("probabilities in the data train as the labels do, and numbers that are none are refused") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "set.safetensors").string();
  const auto fit_on = [&](const at::Tensor& y, const std::string& loss) {
    const at::Tensor x = at::arange(160, at::kFloat).reshape({40, 4}).remainder(7).div(7);
    save_safetensors(path, {{"x", x}, {"y", y}});
    return parse_options(R"({"@": "fit", "name": "shares", "data": {"@": "data:split", "val": 0.25,
      "source": {"@": "data.safetensors", "path": ")" +
                         path + R"("}},
      "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Linear", "out_features": 3}]},
      "loss": )" + loss + R"(, "metrics": ["accuracy", "f1"], "optim": "SGD", "batch": 10, "epochs": 2})");
  };
  const at::Tensor labels = at::arange(40).remainder(3);
  const at::Tensor one_hot = labels.unsqueeze(1).eq(at::arange(3)).to(at::kFloat);
  for (const std::string loss : {"cross_entropy", "focal", "hinge"}) {
    INFO(loss);
    const Value of_labels = run(fit_on(labels, "\"" + loss + "\"")),
                of_shares = run(fit_on(one_hot, "\"" + loss + "\""));
    for (const char* name : {"train.loss", "val.loss", "val.accuracy", "val.f1"})
      CHECK(of_shares["metrics"][name].number() == Approx(of_labels["metrics"][name].number()).epsilon(1e-5));
  }
  CHECK_THAT(refused(fit_on(one_hot.mul(3), R"("cross_entropy")")),
             Catch::Contains("class labels (targets of int64), or probabilities of classes (floats from 0 to 1"));
  const Options fit = fit_on(one_hot, R"("cross_entropy")");
  write_models(plan_fit(fit, test_settings()), fit, folder.path());
  CHECK(read_model(folder.path()).meaning == Meaning::classes);
  CHECK(read_model(folder.path()).classes == 3);
}

TEST_CASE("metrics that no part measures are warned of") {
  const auto warnings = [](const std::string& parts) {
    const std::string json =
        replaced(digits_fit(R"(, "epochs": 1)"), R"("train": 0.8, "val": 0.1, "test": 0.1,)", parts);
    return plan_fit(parse_options(json), test_settings()).warnings;
  };
  REQUIRE(warnings(R"("train": 0.5,)").size() == 1);
  CHECK_THAT(warnings(R"("train": 0.5,)")[0],
             Catch::Contains("metrics: are measured on the validation and the test part, and the data has neither"));
  CHECK(warnings(R"("test": 0.1,)").empty());
  CHECK(warnings(R"("val": 0.1,)").empty());
}

TEST_CASE("what is measured at the end only cannot be watched") {
  for (const std::string more :
       {R"(, "monitor": "test.accuracy")", R"(, "stop": [{"@": "stop.patience", "metric": "test.accuracy"}])"}) {
    CHECK_THAT(
        refused(parse_options(digits_fit(R"(, "epochs": 1)" + more))),
        Catch::Contains("\"test.accuracy\" is measured once, at the end") && Catch::Contains("watch \"val.accuracy\""));
  }
}

TEST_CASE("a part in which no label counts is refused before training") {
  const DataParts parts = plan_fit(parse_options(digits_fit(R"(, "epochs": 1)")), test_settings()).data;
  const std::string own_metric = R"([{"@": "metric.auc", "ignore_index": -1}])";
  for (const auto& [name, part] :
       {std::pair("training", parts.train), {"validation", *parts.val}, {"test", *parts.test}}) {
    INFO(name);
    const auto marked = [rows = *part.rows, first = std::int64_t{0}](const at::Tensor& y) mutable {
      at::Tensor labels = y.clone();
      for (const std::int64_t row : rows) {
        if (row >= first && row < first + y.size(0)) labels[row - first] = -1;
      }
      first += y.size(0);
      return labels;
    };
    const auto text = "ignore_index: every label of the " + std::string(name) + " part is -1";
    CHECK_THAT(refused(fit_of(cross_entropy_without(-1), R"(["accuracy"])", marked)),
               Catch::Contains("fit.loss." + text));
    CHECK_THAT(refused(fit_of(R"("cross_entropy")", own_metric, marked)),
               Catch::Contains("fit.metrics[1].auc." + text));
  }
}

TEST_CASE("a mark below 0 fits tokens that are stored as bytes") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "abc.txt").string();
  std::string text;
  for (int i = 0; i < 200; ++i) text += "abc"[i % 3];
  write_atomic(path, text);
  const Value summary = run(parse_options(R"({"@": "fit", "name": "text", "data": {"@": "data:split", "val": 0.2,
      "source": {"@": "data.text", "path": ")" +
                                          path + R"(", "context": 8}},
      "model": {"@": "nn.Sequential", "layers": [
        {"@": "nn.Embedding", "num_embeddings": 3, "embedding_dim": 4}, {"@": "nn.Linear", "out_features": 3}]},
      "loss": {"@": "loss.cross_entropy", "ignore_index": -1}, "optim": "SGD", "batch": 4, "epochs": 1})"));
  CHECK(std::isfinite(summary["metrics"]["val.loss"].number()));
}

TEST_CASE("a part in which every sample has the weight 0 is refused before training") {
  const std::string loss = R"({"@": "loss.mse", "target": "v"})";
  CHECK_THAT(refused(Columns(0).fit(loss, "[]")),
             Catch::Contains("fit.data: every sample of the training part has the weight 0"));
  CHECK(refused(Columns(0.5).fit(loss, "[]")).empty());
}

TEST_CASE("a validation in which nothing counts fails the run, and says so") {
  const auto loss = native([](std::span<const Argument> arguments) -> std::vector<Argument> {
    const at::Tensor& out = dynamic_cast<TensorObject&>(*std::get<std::shared_ptr<Object>>(arguments[0])).tensor;
    return {std::make_shared<TensorObject>(out.square().mean()), Value(out.requires_grad() ? 1 : 0)};
  });
  const std::string json =
      replaced(digits_fit(R"(, "epochs": 2)"), R"("cross_entropy")", R"({"@": "function", "index": 0})");
  const Value summary = run(parse_options(json, {loss}));
  CHECK(summary["status"] == Value("failed"));
  CHECK(summary["reason"].string() == "nothing in the validation part counts at step " +
                                          std::to_string(summary["steps"].integer()) +
                                          ": each target is ignored or has the weight 0");
}

}  // namespace trainlab::targets_test
