// What a step is made of: accumulated micro-batches, clipping, schedules of several numbers, averages of weights,
// optimizers that evaluate again. Numbers against closed forms and against each other; resumed = uninterrupted.
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "core/files.h"
#include "data/batch_object.h"
#include "support/fit_support.h"
#include "tensor/safetensors.h"
#include "tensor/tensor_object.h"
#include "train/fit_plan.h"

namespace trainlab::step_options_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

// A fit without dropout, so that only the arithmetic of the step matters.
std::string plain_fit(const std::string& more, const std::string& loss = "\"cross_entropy\"",
                      const std::string& optim = R"({"@": "optim.SGD", "lr": 0.1, "momentum": 0.9})") {
  return R"({"@": "fit", "name": "test",
    "data": {"@": "data:split", "source": {"@": "data.digits"}, "train": 0.8, "val": 0.1, "test": 0.1, "seed": 7},
    "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 16},
              {"@": "nn.Tanh"}, {"@": "nn.Linear", "out_features": 10}]},
    "precision": "float64", "loss": )" +
         loss + R"(, "optim": )" + optim + more + "}";
}

std::vector<fs::path> files(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder / "checkpoints")) {
    const std::string name = entry.path().filename();
    if (name.starts_with(prefix) && name.ends_with(".safetensors")) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

NamedTensors last(const fs::path& folder) { return load_safetensors(files(folder, "last-").back()).tensors; }

double worst(const NamedTensors& a, const NamedTensors& b, const std::string& prefix) {
  double difference = 0;
  for (const auto& [name, tensor] : a)
    if (name.starts_with(prefix)) difference = std::max(difference, tensor.sub(b.at(name)).abs().max().item<double>());
  return difference;
}

// Whole, and interrupted at a step: the last checkpoints have the same bytes.
void check_resume(const std::string& fit_text, std::int64_t step) {
  const TemporaryFolder temporary;
  run_one(parse_options(fit_text), temporary.path() / "whole");
  const fs::path folder = temporary.path() / "part";
  const std::string with_stop =
      fit_text.substr(0, fit_text.size() - 1) + R"(, "on": {"step": {"@": "function", "index": 0}}})";
  {
    const ClearStop clear;
    REQUIRE(run_one(parse_options(with_stop, {stop_at(step)}), folder)["status"] == Value("interrupted"));
  }
  REQUIRE(run_one(parse_options(fit_text), folder, true)["status"] == Value("done"));
  for (const char* prefix : {"last-", "best-"}) {
    const auto whole = files(temporary.path() / "whole", prefix), part = files(folder, prefix);
    REQUIRE_FALSE(whole.empty());
    CHECK(whole.back().filename() == part.back().filename());
    CHECK(hash_file(whole.back()) == hash_file(part.back()));
  }
}

}  // namespace

TEST_CASE("accumulated micro-batches are one batch, also where samples do not count alike") {
  // With class weights the micro-batches' means have different divisors; the last step of an epoch has fewer of them.
  const std::string weighted = R"({"@": "loss.cross_entropy", "class_weights": [1, 5, 0.1, 1, 2, 1, 9, 1, 0.5, 1]})";
  const std::string ignoring = R"({"@": "loss.cross_entropy", "ignore_index": 3, "weight": 0.5})";
  const auto sum = [](const std::string& losses) { return R"({"@": "loss.sum", "losses": [)" + losses + "]}"; };
  // In a sum each part has divisors of its own; those that are means by sample share one.
  for (const std::string& loss :
       {std::string(R"("cross_entropy")"), weighted, sum(weighted), sum(R"("hinge", "focal")"),
        sum(R"("hinge", )" + weighted + R"(, {"@": "loss.focal", "weight": 2}, )" + ignoring)}) {
    for (const std::string clip : {"", R"(, "clip": 0.05)", R"(, "clip": {"value": 0.001})"}) {
      INFO(loss << clip);
      const TemporaryFolder temporary;
      const auto run = [&](const std::string& batch, const char* name) {
        return run_one(parse_options(plain_fit(R"(, "epochs": 2, )" + batch + clip, loss)), temporary.path() / name);
      };
      const Value one = run(R"("batch": 96)", "one"), four = run(R"("batch": 24, "accumulate": 4)", "four");
      CHECK(one["steps"] == four["steps"]);
      CHECK(one["samples"] == four["samples"]);
      CHECK(worst(last(temporary.path() / "one"), last(temporary.path() / "four"), "model.") < 1e-12);
      for (const char* metric : {"train.loss", "val.loss"})
        CHECK(one["metrics"][metric].number() == Approx(four["metrics"][metric].number()).epsilon(1e-12));
    }
  }
}

TEST_CASE("a function in a sum of losses that is accumulated is divided by the counts that it tells") {
  // The squares of the outputs of even labels, and how many there are.
  const bool always = GENERATE(true, false);
  std::int64_t calls = 0;
  const auto function = native([&](std::span<const Argument> arguments) -> std::vector<Argument> {
    const auto tensor = [&](const Argument& one) {
      return std::dynamic_pointer_cast<TensorObject>(std::get<std::shared_ptr<Object>>(one))->tensor;
    };
    const auto batch = std::dynamic_pointer_cast<BatchObject>(std::get<std::shared_ptr<Object>>(arguments[1]));
    const at::Tensor even = batch->columns.at("y").remainder(2).eq(0).to(at::kDouble);
    const at::Tensor count = even.sum(), value = tensor(arguments[0]).square().mean(1).mul(even).sum().div(count);
    std::vector<Argument> results{std::make_shared<TensorObject>(value)};
    if (always || calls++ > 0) results.emplace_back(std::make_shared<TensorObject>(count));
    return results;
  });
  const TemporaryFolder temporary;
  const auto run = [&](const std::string& batch, const char* name) {
    const std::string loss = R"({"@": "loss.sum", "losses": ["cross_entropy", {"@": "function", "index": 0}]})";
    return run_one(parse_options(plain_fit(R"(, "steps": 30, )" + batch, loss), {function}), temporary.path() / name);
  };
  if (!always) {
    CHECK_THROWS_WITH(run(R"("batch": 24, "accumulate": 4)", "four"),
                      Catch::Contains("function returned a count") && Catch::Contains("always, or never"));
    return;
  }
  run(R"("batch": 96)", "one");
  run(R"("batch": 24, "accumulate": 4)", "four");
  CHECK(worst(last(temporary.path() / "one"), last(temporary.path() / "four"), "model.") < 1e-12);
}

TEST_CASE("micro-batches have random numbers of their own, and resume keeps them") {
  check_resume(digits_fit(R"(, "epochs": 3, "accumulate": 3)"), 11);
}

TEST_CASE("momentum and weight decay follow their schedules") {
  // Constant factors equal an optimizer with the product.
  const TemporaryFolder temporary;
  const auto run = [&](const std::string& optim, const std::string& more, const char* name) {
    run_one(parse_options(plain_fit(R"(, "steps": 30)" + more, "\"cross_entropy\"", optim)), temporary.path() / name);
    return last(temporary.path() / name);
  };
  const NamedTensors direct =
      run(R"({"@": "optim.SGD", "lr": 0.1, "momentum": 0.4, "weight_decay": 0.05})", "", "direct");
  const NamedTensors scheduled = run(R"({"@": "optim.SGD", "lr": 0.1, "momentum": 0.8, "weight_decay": 0.1})",
                                     R"(, "schedule": {"momentum": {"@": "sched.linear", "start": 0.5, "finish": 0.5},
              "weight_decay": {"@": "sched.linear", "start": 0.5, "finish": 0.5}})",
                                     "scheduled");
  CHECK(worst(direct, scheduled, "model.") < 1e-14);
  const NamedTensors cycled = run(R"({"@": "optim.SGD", "lr": 0.1, "momentum": 0.8})",
                                  R"(, "schedule": {"lr": "one_cycle",
         "momentum": {"@": "sched.one_cycle", "start": 1, "peak": 0.9, "finish": 1}})",
                                  "cycled");
  CHECK(worst(direct, cycled, "model.") > 1e-3);
  CHECK_THROWS_WITH(run(R"({"@": "optim.SGD"})", R"(, "schedule": {"momentum": "cosine"})", "none"),
                    Catch::Contains("schedule.momentum") && Catch::Contains("optim.SGD"));
  CHECK_THROWS_WITH(run(R"({"@": "optim.LBFGS"})", R"(, "schedule": {"weight_decay": "cosine"})", "lbfgs"),
                    Catch::Contains("schedule.weight_decay"));
}

TEST_CASE("an average is what is validated, kept and tested, and resumes exactly") {
  const TemporaryFolder temporary;
  const std::string length = R"(, "epochs": 3, "keep": "best")";
  for (const std::string ema :
       {R"({"@": "ema", "decay": 0.95})", R"({"@": "swa", "start": "50%", "every": "5 steps"})"}) {
    INFO(ema);
    check_resume(digits_fit(length + R"(, "ema": )" + ema), 40);
  }
  const fs::path with = temporary.path() / "with", without = temporary.path() / "without",
                 beside = temporary.path() / "beside";
  const Value averaged = run_one(parse_options(digits_fit(length + R"(, "ema": {"@": "ema", "decay": 0.95})")), with);
  const Value plain = run_one(parse_options(digits_fit(length)), without);
  const Value watched =
      run_one(parse_options(digits_fit(length + R"(, "ema": {"@": "ema", "decay": 0.95, "evaluate": false})")), beside);
  // Training itself is the same; what is validated is not, unless the average only runs along.
  CHECK(worst(last(without), last(with), "model.") == 0);
  CHECK(worst(last(without), last(beside), "model.") == 0);
  CHECK(watched["metrics"] == plain["metrics"]);
  CHECK_FALSE(averaged["metrics"]["val.loss"] == plain["metrics"]["val.loss"]);
  // The best weights are the average at that step: here the last, as it still falls.
  REQUIRE(averaged["best"]["step"] == averaged["steps"]);
  const NamedTensors best = load_safetensors(files(with, "best-").back()).tensors, end = last(with);
  for (const auto& [name, tensor] : best) CHECK(at::equal(tensor, end.at("ema." + name.substr(6))));
}

TEST_CASE("Schedule-Free validates, keeps and tests its averaged weights, stores both, and resumes exactly") {
  const std::string optim = GENERATE(R"({"@": "optim.SGDScheduleFree", "lr": 1})",
                                     R"({"@": "optim.AdamWScheduleFree", "lr": 0.01, "weight_decay": 0.01})");
  const auto fit = [&](const std::string& more) {
    std::string text = digits_fit(R"(, "epochs": 3)" + more);
    const std::string adamw = R"({"@": "optim.AdamW", "lr": 0.005})";
    return text.replace(text.find(adamw), adamw.size(), optim);
  };
  check_resume(fit(R"(, "validate": "10 steps")"), 40);
  check_resume(fit(R"(, "freeze": ["2.*"])"), 40);

  const TemporaryFolder temporary;
  const fs::path often = temporary.path() / "often", once = temporary.path() / "once";
  const Value summary = run_one(parse_options(fit(R"(, "validate": "10 steps", "keep": "last")")), often);
  run_one(parse_options(fit(R"(, "keep": "last")")), once);
  CHECK(worst(last(often), last(once), "model.") == 0);  // a validation changes nothing
  CHECK(summary["metrics"]["val.accuracy"].number() > 0.8);

  // x = y + (1 − 1/beta)·(z − y).
  const NamedTensors end = last(often);
  for (const std::string name : {"2.weight", "2.bias", "5.weight", "5.bias"}) {
    const at::Tensor y = end.at("model." + name), z = end.at("optim." + name + ".z");
    CHECK(at::equal(end.at("ema." + name), y + (z - y).mul(1 - 1 / 0.9)));
    CHECK_FALSE(at::equal(end.at("ema." + name), y));
  }
  const Value best = run_one(parse_options(fit(R"(, "keep": "best")")), temporary.path() / "best");
  REQUIRE(best["best"]["step"] == best["steps"]);
  const NamedTensors kept = load_safetensors(files(temporary.path() / "best", "best-").back()).tensors;
  for (const auto& [name, tensor] : kept) CHECK(at::equal(tensor, end.at("ema." + name.substr(6))));

  const auto plan = [&](const std::string& more) { return plan_fit(parse_options(fit(more)), test_settings()); };
  CHECK(plan("").warnings.empty());
  std::string with_norm = fit("");
  with_norm.replace(with_norm.find(R"({"@": "nn.ReLU"})"), 16, R"({"@": "nn.BatchNorm1d"})");
  const std::vector<std::string> warnings = plan_fit(parse_options(with_norm), test_settings()).warnings;
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("running statistics of norms are those of the trained weights") != std::string::npos);
  CHECK_THROWS_WITH(plan(R"(, "ema": {"@": "ema"})"), Catch::Contains("fit.ema") && Catch::Contains("of its own"));
  CHECK_THROWS_WITH(plan(R"(, "schedule": {"momentum": "cosine"})"), Catch::Contains("schedule.momentum"));
}

TEST_CASE("lean and modern optimizers resume exactly in a fit") {
  const std::string optim =
      GENERATE(R"({"@": "optim.Adafactor", "lr": 0.05})", R"({"@": "optim.Prodigy", "d0": 0.001})",
               R"({"@": "optim.SOAP", "precondition_frequency": 3})", R"({"@": "optim.AdamW", "state": "bfloat16"})",
               R"({"@": "optim.AdamW", "state": "8bit"})", R"({"@": "optim.Lion", "lr": 0.001, "state": "8bit"})");
  INFO(optim);
  // The first layer has 64 · 80 weights, enough for states of 8 bits.
  std::string text = digits_fit(R"(, "epochs": 2, "validate": "10 steps")");
  const std::string adamw = R"({"@": "optim.AdamW", "lr": 0.005})", narrow = R"("out_features": 24)";
  text.replace(text.find(adamw), adamw.size(), optim);
  text.replace(text.find(narrow), narrow.size(), R"("out_features": 80)");
  check_resume(text, 26);
}

TEST_CASE("an average has the latest directions of a spectral norm, and the mean of a batch norm's statistics") {
  const TemporaryFolder temporary;
  std::string fit = digits_fit(R"(, "epochs": 3, "ema": {"@": "ema", "decay": 0.99})");
  const std::string plain = R"({"@": "nn.Linear", "out_features": 24})";
  fit.replace(fit.find(plain), plain.size(),
              R"({"@": "nn.SpectralNorm", "layer": )" + plain + R"(}, {"@": "nn.BatchNorm1d"})");
  run_one(parse_options(fit), temporary.path());
  const NamedTensors end = last(temporary.path());
  CHECK(at::equal(end.at("ema.2.weight_u"), end.at("model.2.weight_u")));
  CHECK(at::equal(end.at("ema.2.weight_v"), end.at("model.2.weight_v")));
  CHECK_FALSE(at::equal(end.at("ema.3.running_mean"), end.at("model.3.running_mean")));
  CHECK_FALSE(at::equal(end.at("ema.2.layer.weight"), end.at("model.2.layer.weight")));
  CHECK(at::linalg_vector_norm(end.at("ema.2.weight_u")).item<double>() == Approx(1).epsilon(1e-5));
}

TEST_CASE("optimizers that evaluate again train in a fit and resume exactly") {
  std::string sam = digits_fit(R"(, "steps": 30, "validate": "10 steps")");
  const std::string adamw = R"({"@": "optim.AdamW", "lr": 0.005})";
  sam.replace(sam.find(adamw), adamw.size(),
              R"({"@": "optim.SAM", "base": {"@": "optim.SGD", "lr": 0.1, "momentum": 0.9}})");
  check_resume(sam, 14);
  const TemporaryFolder temporary;
  const std::string lbfgs =
      R"({"@": "optim.LBFGS", "history_size": 10, "max_iter": 10, "line_search_fn": "strong_wolfe"})";
  const std::string length = R"(, "steps": 6, "batch": 1400, "loader": {"drop_last": true}, "validate": "2 steps")";
  check_resume(plain_fit(length, "\"cross_entropy\"", lbfgs), 3);
  const Value summary = run_one(parse_options(plain_fit(length, "\"cross_entropy\"", lbfgs)), temporary.path());
  CHECK(summary["metrics"]["train.loss"].number() < 0.2);
}

TEST_CASE("a step's options that make no sense are refused with the fit") {
  const auto plan = [](const std::string& more, const std::string& optim = R"({"@": "optim.SGD"})") {
    plan_fit(parse_options(plain_fit(R"(, "steps": 3)" + more, "\"cross_entropy\"", optim)), test_settings());
  };
  CHECK_NOTHROW(plan(R"(, "clip": {"value": 0.5, "norm": 1})"));
  CHECK_THROWS_WITH(plan(R"(, "clip": {})"), Catch::Contains("clip") && Catch::Contains("found neither"));
  CHECK_THROWS_WITH(plan(R"(, "clip": -1)"), Catch::Contains("clip"));
  CHECK_THROWS_WITH(plan(R"(, "clip": {"value": 0})"), Catch::Contains("clip.value"));
  CHECK_THROWS_WITH(plan(R"(, "ema": {"@": "swa", "start": "1000 epochs"})"),
                    Catch::Contains("ema.start") && Catch::Contains("a start after 1,000 epochs"));
  CHECK_THROWS_WITH(plan(R"(, "accumulate": 0)"), Catch::Contains("accumulate"));
  CHECK_THROWS_WITH(plan(R"(, "ema": {"@": "ema", "start": "1 h"})"), Catch::Contains("ema.start"));
  CHECK_THROWS_WITH(plan("", R"({"@": "optim.SGD", "groups": [{"params": ["9.*"], "lr": 1}]})"),
                    Catch::Contains("optim.groups") && Catch::Contains("9.*"));
}

TEST_CASE("models and schedules of a step of the recipe's own are checked with the fit") {
  const std::string linear =
      R"({"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 4}]})";
  const std::string sgd = R"({"@": "optim.SGD", "lr": 0.1})", cosine = R"({"@": "sched.cosine"})";
  const auto step = native([](std::span<const Argument>) -> std::vector<Argument> { return {}; });
  const auto plan = [&](const std::string& model, const std::string& optim, const std::string& schedule) {
    const std::string fit = R"({"@": "fit", "name": "test", "data": {"@": "data.digits"}, "steps": 3,
                                "step": {"@": "function", "index": 0}, "model": {"a": )" +
                            linear + R"(, "b": )" + model + R"(}, "optim": {"a": )" + sgd + R"(, "b": )" + optim +
                            R"(}, "schedule": {"b": )" + schedule + "}}";
    plan_fit(parse_options(fit, {step}), test_settings());
  };
  CHECK_NOTHROW(plan(linear, sgd, cosine));
  CHECK_THROWS_WITH(plan(R"({"@": "nn.Flatten"})", sgd, cosine),
                    Catch::Contains("fit.optim.b") && Catch::Contains("found none"));
  CHECK_THROWS_WITH(plan(linear, R"({"@": "optim.Adagrad"})", R"({"momentum": )" + cosine + "}"),
                    Catch::Contains("fit.schedule.b.momentum") && Catch::Contains("optim.Adagrad without"));
}

}  // namespace trainlab::step_options_test
