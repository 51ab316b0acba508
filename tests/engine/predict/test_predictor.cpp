// Trained models, read back: what they predict is what the trainer measured.
#include <ATen/ops/allclose.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/rand.h>

#include <catch2/catch.hpp>
#include <numeric>

#include "core/files.h"
#include "data/loader.h"
#include "journal/checkpoint.h"
#include "predict/generate.h"
#include "predict/prediction_text.h"
#include "support/fit_support.h"
#include "support/stand_in_device.h"

namespace trainlab::predictor_test {

using namespace test;

namespace {

constexpr const char* parts = R"({"@": "data:split", "source": {"@": "data.digits"}, "train": 0.5, "val": 0.2,
                                  "test": 0.3, "seed": 3})";

// The fit of digits, normalised.
std::string normalised_fit(const std::string& more) {
  return R"({"@": "fit", "name": "test", "data": {"@": "data:normalize", "source": )" + std::string(parts) +
         R"(}, "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 24},
              {"@": "nn.ReLU"}, {"@": "nn.Dropout", "p": 0.1}, {"@": "nn.Linear", "out_features": 10}]},
    "loss": "cross_entropy", "metrics": ["accuracy"], "optim": {"@": "optim.AdamW", "lr": 0.01}, "batch": 64)" +
         more + "}";
}

// x and y of the test part before it was normalised.
Batch raw_test() {
  const Part part = *open_data(parse_options(parts), {.seed = 1}).test;
  std::vector<std::int64_t> all(static_cast<std::size_t>(part.size()));
  std::iota(all.begin(), all.end(), 0);
  return gather(part, all);
}

std::string text_fit(const std::filesystem::path& file) {
  return R"({"@": "fit", "name": "test", "data": {"@": "data:split", "val": 0.2, "source": {"@": "data.text",
    "path": ")" +
         file.string() + R"(", "context": 6}}, "model": {"@": "nn.Sequential", "layers": [
    {"@": "nn.Embedding", "num_embeddings": 4, "embedding_dim": 8}, {"@": "nn.Linear", "out_features": 4}]},
    "loss": "cross_entropy", "optim": {"@": "optim.AdamW", "lr": 0.05}, "batch": 16, "epochs": 3})";
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("the accuracy of what is predicted is the one that the fit measured") {
  const std::string more = GENERATE(R"(, "epochs": 4)", R"(, "epochs": 3, "keep": "last")",
                                    R"(, "epochs": 3, "keep": "last", "ema": {"@": "ema", "decay": 0.9})");
  const TemporaryFolder folder;
  const Value summary = run_one(parse_options(normalised_fit(more)), folder.path());
  const Predictor predictor(full_registry(), folder.path(), test_device());
  const Batch test = raw_test();
  const NewInputs inputs = inputs_of({{"x", test.columns[0]}}, "x", predictor.file().inputs, predictor.data());
  const at::Tensor probabilities = predictor.predict(inputs, 100);
  REQUIRE(probabilities.sizes() == at::IntArrayRef({test.size, 10}));
  CHECK(at::allclose(probabilities.sum(1), at::ones_like(probabilities.sum(1))));
  const double right = probabilities.argmax(1).eq(test.columns[1]).to(at::kDouble).mean().item<double>();
  CHECK(right == Approx(summary["metrics"]["test.accuracy"].number()).epsilon(1e-12));

  // However many at a time, to rounding; and as the model itself says.
  CHECK(at::allclose(predictor.predict(inputs, 7), probabilities, 1e-5, 1e-7));
  const auto model = predictor.model_object();
  CHECK_FALSE(model->training);
  const at::Tensor x = test.columns[0]
                           .sub(predictor.data().at("x.mean").to(at::kFloat))
                           .div(predictor.data().at("x.std").to(at::kFloat))
                           .to(test_device());
  CHECK(at::equal(model->forward({&x, 1}, Key(0)).argmax(1).cpu(), probabilities.argmax(1)));
}

TEST_CASE("a fit that keeps the last weights and an average predicts with the average") {
  const TemporaryFolder folder;
  run_one(parse_options(normalised_fit(R"(, "epochs": 2, "keep": "last", "ema": {"@": "ema", "decay": 0.9})")),
          folder.path());
  const NamedTensors stored = CheckpointFolder::read_newest(folder.path() / "checkpoints")->tensors;
  const NamedTensors used = Predictor(full_registry(), folder.path(), test_device()).model_object()->tensors();
  REQUIRE(used.size() == 4);
  for (const auto& [name, tensor] : used) {
    INFO(name);
    CHECK(at::equal(tensor.cpu(), stored.at("ema." + name)));
    CHECK_FALSE(at::equal(tensor.cpu(), stored.at("model." + name)));
  }
}

TEST_CASE("bytes count as 0…1") {
  const TemporaryFolder folder;
  run_one(parse_options(normalised_fit(R"(, "epochs": 1)")), folder.path());
  const Predictor predictor(full_registry(), folder.path(), test_device());
  const at::Tensor bytes = at::rand({3, 1, 8, 8}).mul(255).to(at::kByte);
  const auto predicted = [&](const at::Tensor& x) {
    return predictor.predict(inputs_of({{"x", x}}, "x", predictor.file().inputs, predictor.data()), 8);
  };
  CHECK(at::allclose(predicted(bytes), predicted(bytes.to(at::kFloat).div(255)), 1e-4, 1e-6));
}

TEST_CASE("inputs that the model cannot take are refused") {
  const TemporaryFolder folder;
  run_one(parse_options(normalised_fit(R"(, "epochs": 1)")), folder.path());
  const Predictor predictor(full_registry(), folder.path(), test_device());
  const auto refused = [&](const at::Tensor& x) {
    return message_of([&] { inputs_of({{"x", x}}, "new.npy", predictor.file().inputs, predictor.data()); });
  };
  CHECK_THAT(refused(at::rand({5, 8, 8})),
             Catch::Contains(
                 "new.npy: expected x of numbers [N, 1, 8, 8], as the model was trained on, found numbers [N, 8, 8]"));
  CHECK_THAT(refused(at::rand({5, 1, 8, 8}).to(at::kLong)), Catch::Contains("found whole numbers [N, 1, 8, 8]"));
  CHECK_THAT(refused(at::rand({5, 1, 8, 8}).sub(2).log()), Catch::Contains("new.npy: some values are not finite"));
}

TEST_CASE("inputs of sizes that the layers cannot take are refused by where they are from") {
  const TemporaryFolder folder;
  run_one(parse_options(normalised_fit(R"(, "epochs": 1)")), folder.path());
  const Predictor predictor(full_registry(), folder.path(), test_device());
  const NewInputs large =
      inputs_of({{"x", at::rand({5, 1, 9, 8})}}, "new.npy", predictor.file().inputs, predictor.data());
  const std::string said = message_of([&] { predictor.predict(large, 8); });
  CHECK_THAT(said, Catch::StartsWith("new.npy: expected x of numbers [N, 1, 8, 8], as the model was trained on, found "
                                     "numbers [N, 1, 9, 8]"));
  CHECK_THAT(said, Catch::Contains("model[2].Linear: an input of shape [72] needs"));
}

TEST_CASE("a folder without weights, or with damaged ones, is said so") {
  const TemporaryFolder folder;
  const auto opened = [&] { return message_of([&] { Predictor(full_registry(), folder.path(), test_device()); }); };
  CHECK_THAT(opened(), Catch::StartsWith("there is no trained model in "));
  run_one(parse_options(normalised_fit(R"(, "epochs": 1)")), folder.path());
  CHECK(opened() == "no error");
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "checkpoints")) {
    if (entry.path().extension() == ".safetensors") write_atomic(entry.path(), "damaged");
  }
  CHECK_THAT(opened(), Catch::Contains("its bytes are not those that were committed"));
  std::filesystem::remove_all(folder.path() / "checkpoints");
  CHECK_THAT(opened(), Catch::StartsWith("there are no weights yet in "));
}

TEST_CASE("a text that repeats itself is continued, alike for the same seed") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "text.txt";
  std::string text;
  for (int i = 0; i < 300; ++i) text += "abcd";
  write_atomic(file, text);
  run_one(parse_options(text_fit(file)), folder.path() / "fit");
  const Predictor predictor(full_registry(), folder.path() / "fit", test_device());
  REQUIRE(predictor.is_language_model());
  CHECK(generate(predictor, "b", {.length = 9, .sampling = {.temperature = 0}}) == "bcdabcdabc");
  // Longer than the context of 6: its last tokens count.
  CHECK(generate(predictor, "ddddddddda", {.length = 3, .sampling = {.temperature = 0}}) == "dddddddddabcd");
  const Generation hot{.length = 60, .sampling = {.temperature = 50}, .seed = 4};
  CHECK(generate(predictor, "a", hot) == generate(predictor, "a", hot));
  Generation other = hot;
  other.seed = 5;
  CHECK(generate(predictor, "a", hot) != generate(predictor, "a", other));
  CHECK_THAT(message_of([&] { generate(predictor, "abxa", hot); }),
             Catch::StartsWith("the prompt:1: character 3, 'x' (U+0078), is not among the 4"));
  CHECK_THAT(message_of([&] { generate(predictor, "", hot); }), Catch::Contains("expected at least one character"));
}

TEST_CASE("predictions as text") {
  const TemporaryFolder folder;
  run_one(parse_options(normalised_fit(R"(, "epochs": 1)")), folder.path());
  const StagePredictor stage(full_registry(), folder.path(), test_device());
  const Batch test = raw_test();
  const auto inputs = [&](const Predictor& one) {
    return inputs_of({{"x", test.columns[0].narrow(0, 0, 2)}}, "x", one.file().inputs, one.data());
  };
  const Prediction prediction = stage.predict(inputs, 8);
  const at::Tensor& out = prediction.mean;
  CHECK_FALSE(prediction.spread.defined());
  const Value json = parse_json(prediction_text(stage.first(), prediction, PredictionFormat::json), "json");
  REQUIRE(json.list().size() == 2);
  CHECK(json.list()[1]["class"].integer() == out.select(0, 1).argmax().item<std::int64_t>());
  CHECK(static_cast<float>(json.list()[1]["probabilities"]["7"].number()) ==
        out.select(0, 1).select(0, 7).item<float>());
  const std::string csv = prediction_text(stage.first(), prediction, PredictionFormat::csv);
  CHECK_THAT(csv, Catch::StartsWith("index,class,p(0),p(1),") &&
                      Catch::Contains("\n1," + std::to_string(json.list()[1]["class"].integer()) + ","));
}

}  // namespace trainlab::predictor_test
