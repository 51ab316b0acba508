// What `check --step` does: the first step and the first validation of the fit itself, of which nothing is left.
#include <catch2/catch.hpp>
#include <cmath>
#include <regex>

#include "core/files.h"
#include "journal/artifact.h"
#include "objects/run_handle.h"
#include "support/fit_support.h"
#include "tensor/tensor_object.h"
#include "tensor/types.h"

namespace trainlab::try_step_test {

using namespace test;

namespace {

std::string tried(const Options& fit) {
  prepare_arithmetic(1);
  return check_fit(plan_fit(fit, test_settings()), {.step = true}).text;
}

// The number that `text` gives for a metric.
double number_in(const std::string& text, const std::string& metric) {
  std::smatch found;
  if (!std::regex_search(text, found, std::regex(metric + R"( (\S+),)"))) return std::nan("");
  return std::stod(found[1]);
}

}  // namespace

TEST_CASE("one step of check measures what the first step of the fit measures, and leaves nothing") {
  const EmptyFolder folder;
  const std::string text = tried(parse_options(digits_fit(R"(, "epochs": 5, "schedule": {"@": "sched.cosine"})")));
  CHECK(folder.is_empty());
  const TemporaryFolder temporary;
  const Value run = run_one(parse_options(digits_fit(R"(, "steps": 1)")), temporary.path());
  CHECK(number_in(text, "train.loss") == Approx(run["metrics"]["train.loss"].number()).epsilon(1e-3));
  CHECK(number_in(text, "val.loss") == Approx(run["metrics"]["val.loss"].number()).epsilon(1e-3));
  CHECK(number_in(text, "val.accuracy") == Approx(run["metrics"]["val.accuracy"].number()).epsilon(1e-3));
}

TEST_CASE("what a recipe's functions ask of the run in check is checked, and not done") {
  const EmptyFolder folder;
  std::vector<std::string> calls;
  const auto noted = [&calls](const char* name) {
    return native([&calls, name](std::span<const Argument> arguments) -> std::vector<Argument> {
      const auto run = std::dynamic_pointer_cast<RunHandle>(std::get<std::shared_ptr<Object>>(arguments[0]));
      calls.emplace_back(name);
      run->save("kept");
      run->log("seen", 1.0);
      run->artifact("note.txt", Artifact{});
      CHECK(std::isnan(run->metric("val.loss")));
      CHECK_THROWS_AS(run->save("../kept"), Error);
      return {};
    });
  };
  const std::string on = R"(, "epochs": 2, "on": {"start": {"@": "function", "index": 0},
      "step": {"@": "function", "index": 1}, "checkpoint": {"@": "function", "index": 1}})";
  const std::string text = tried(parse_options(digits_fit(on), {noted("start"), noted("other")}));
  CHECK(calls == std::vector<std::string>{"start"});
  CHECK(text.find("one validation") != std::string::npos);
  CHECK(folder.is_empty());
}

TEST_CASE("check tells that the fit would end at its first step") {
  std::string fit = digits_fit(R"(, "epochs": 2)");
  fit.replace(fit.find("\"cross_entropy\""), 15, R"({"@": "function", "index": 0})");
  const auto lost = native([](std::span<const Argument> arguments) -> std::vector<Argument> {
    const auto out = std::dynamic_pointer_cast<TensorObject>(std::get<std::shared_ptr<Object>>(arguments[0]));
    return {std::static_pointer_cast<Object>(std::make_shared<TensorObject>(out->tensor.sum().mul(std::nan(""))))};
  });
  const std::string text = tried(parse_options(fit, {lost}));
  CHECK(text.find("the fit would end here: the training loss is not finite at step 1") != std::string::npos);
  CHECK(text.find("one validation") == std::string::npos);
}

}  // namespace trainlab::try_step_test
