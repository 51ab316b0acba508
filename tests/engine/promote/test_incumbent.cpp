// The model with which a new model is compared is measured on the new model's data, in the form of its own.
#include "incumbent.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>

#include <catch2/catch.hpp>
#include <numeric>

#include "predict/stage_predictor.h"
#include "promote_support.h"
#include "tensor/npy.h"

namespace trainlab::incumbent_test {

using namespace test;

namespace {

const std::string training = R"(, "metrics": ["accuracy"], "optim": {"@": "optim.AdamW", "lr": 0.01}, "epochs": 3)";

// Normalised by a training part that differs with the seed of the split.
std::string data_of(int seed) {
  return R"({"@": "data:normalize", "source": {"@": "data:split", "source": {"@": "data.digits"}, "train": 0.2,
             "val": 0.4, "test": 0.4, "seed": )" +
         std::to_string(seed) + "}}";
}

}  // namespace

TEST_CASE("a run's own data give the metrics of its summary") {
  const TemporaryFolder folder;
  const Options fit = promoted_fit(training, data_of(3));
  const Value summary = train_in(folder.path() / "001", fit);
  const FitPlan plan = plan_fit(fit, test_settings());
  for (const char* metric : {"val.loss", "val.accuracy", "test.accuracy"}) {
    INFO(metric);
    CHECK(metric_of_run(plan, folder.path() / "001", "digits", metric) == Approx(summary["metrics"][metric].number()));
  }
}

TEST_CASE("other data are normalised as the run's own were") {
  const TemporaryFolder folder;
  train_in(folder.path() / "001", promoted_fit(training, data_of(3)));
  const FitPlan plan = plan_fit(promoted_fit(training, data_of(4)), test_settings());
  const double measured = metric_of_run(plan, folder.path() / "001", "digits", "val.accuracy");

  // By hand: the raw inputs of the new validation part, predicted by the run.
  const Part& part = *plan.data.val;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(part.size()));
  std::iota(rows.begin(), rows.end(), 0);
  const Batch batch = gather(part, rows);
  const at::Tensor raw =
      batch.columns[0].mul(plan.data.state.at("x.std").to(at::kFloat)).add(plan.data.state.at("x.mean").to(at::kFloat));
  const StagePredictor predictor(promote_registry(), find_stage(folder.path() / "001", std::nullopt).folder,
                                 plan.device);
  const Predictor& former = predictor.only();
  const at::Tensor probabilities =
      former.predict(inputs_of({{"x", raw}}, "x", former.file().inputs, former.data()), 100);
  const double right = probabilities.argmax(1).eq(batch.columns[1]).to(at::kDouble).mean().item<double>();
  CHECK(measured == Approx(right).margin(2.0 / static_cast<double>(part.size())));
  CHECK(measured > 0.5);
}

TEST_CASE("a run that does not normalise its data is measured on normalised data, and the other way round") {
  const TemporaryFolder folder;
  // The same split: what differs is the normalisation alone.
  const Value raw = train_in(folder.path() / "001", promoted_fit(training, digits_data));
  const std::string normal = R"({"@": "data:normalize", "source": )" + std::string(digits_data) + "}";
  const Value normalised = train_in(folder.path() / "002", promoted_fit(training, normal));
  const FitPlan on_raw = plan_fit(promoted_fit(training, digits_data), test_settings());
  const FitPlan on_normalised = plan_fit(promoted_fit(training, normal), test_settings());
  CHECK(metric_of_run(on_normalised, folder.path() / "001", "digits", "val.loss") ==
        Approx(raw["metrics"]["val.loss"].number()).epsilon(1e-4));
  CHECK(metric_of_run(on_raw, folder.path() / "002", "digits", "val.loss") ==
        Approx(normalised["metrics"]["val.loss"].number()).epsilon(1e-4));
}

TEST_CASE("a run is refused whose normalised inputs had another shape") {
  const TemporaryFolder folder;
  // Inputs of one number would become inputs of three if they were multiplied by three deviations.
  const auto numbers = [&](const std::string& name, const at::Tensor& x) {
    const std::filesystem::path y = folder.path() / "y.npy", file = folder.path() / (name + ".npy");
    write_atomic(file, npy_bytes(x, "x"));
    write_atomic(y, npy_bytes(at::arange(240).remainder(10), "y"));
    return R"({"@": "data:split", "source": {"@": "data.npy", "x": ")" + file.string() + R"(", "y": ")" + y.string() +
           R"("}, "train": 0.5, "val": 0.5, "seed": 3})";
  };
  const at::Tensor values = at::arange(720).to(at::kFloat).reshape({240, 3});
  const std::string normal = R"({"@": "data:normalize", "source": )" + numbers("three", values) + "}";
  train_in(folder.path() / "001", promoted_fit(training, normal));
  const FitPlan plan = plan_fit(promoted_fit(training, numbers("one", values.narrow(1, 0, 1))), test_settings());
  CHECK_THROWS_WITH(metric_of_run(plan, folder.path() / "001", "digits", "val.loss"),
                    Catch::Contains("its inputs had another shape"));
}

TEST_CASE("the model is that of the stage with the same name, or of the stage that the run returned") {
  const TemporaryFolder folder;
  const std::filesystem::path run = folder.path() / "001";
  const Value first = train_in(run, promoted_fit(training));
  // Another fit, which the recipe returned in the end.
  const Options longer = promoted_fit(R"(, "metrics": ["accuracy"], "optim": {"@": "optim.AdamW", "lr": 0.01},
                                        "epochs": 1)");
  train_in(folder.path() / "other", longer);
  std::filesystem::create_directories(run / "stages");
  std::filesystem::rename(folder.path() / "other", run / "stages/last");
  write_stages(run, {{.name = "digits", .kind = "fit", .folder = "."},
                     {.name = "last", .kind = "fit", .folder = "stages/last"}});
  Value summary = parse_json(read_file(run / "summary.json"), "summary");
  summary.set("name", "last");
  write_atomic(run / "summary.json", to_json(summary));
  const FitPlan plan = plan_fit(promoted_fit(training), test_settings());
  const double same = metric_of_run(plan, run, "digits", "val.loss");
  const double returned = metric_of_run(plan, run, "no stage", "val.loss");
  CHECK(same == Approx(first["metrics"]["val.loss"].number()));
  CHECK(returned > 1.05 * same);
}

}  // namespace trainlab::incumbent_test
