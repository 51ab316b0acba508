// Remedies that are tried with less memory, under a budget, and in a stack.
#include <catch2/catch.hpp>

#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <span>
#include <string>

#include "remedies_support.h"
#include "tensor/memory.h"
#include "train/memory_prediction.h"

namespace trainlab::variant_test {

using namespace test;

TEST_CASE("a fit that memory does not hold is tried with less memory for as long as there is time") {
  const Options fit = parse_options(digits_fit(R"(, "steps": 40)"));
  const RunSettings settings = cpu_settings();
  Profile profile;
  profile.kind = "fit";
  profile.no_room = {"out of memory"};
  std::vector<Texts> asked;
  const WithSet some = [&](const Texts& set) -> Options {
    asked.push_back(set);
    const std::string& one = set.front();
    if (one.starts_with("build.memory.")) throw run_error("out of memory");
    return fit;
  };
  const StageOfTraining trial{.path = "build."};
  const TriedRemedies all = tried_remedies(profile, {}, fit, settings, some, long_time(), trial);
  CHECK(asked.size() == 5);
  CHECK(std::ranges::count(all.all, "out of memory", &Remedy::reason) == 3);
  CHECK(with_set(all.all, "build.batch=\"auto\"")->is_tried());
  CHECK(all.joined.set == Texts{"build.loader.threads=0"});  // the batch is kept
  CHECK_FALSE(all.had_no_time);

  asked.clear();
  ProfileOptions over{.seconds = 1, .steps_share = 0.2};
  over.began -= 10;
  const TriedRemedies none = tried_remedies(profile, {}, fit, settings, some, over, trial);
  CHECK(asked.empty());
  CHECK(none.had_no_time);
  CHECK(none.joined.set.empty());
  for (const Remedy& one : none.all) {
    CHECK(one.set.front().starts_with("build."));
    CHECK(one.reason.starts_with("no time left (--seconds "));
  }
}

TEST_CASE("what a profile holds beside a training does not count under the training's budget") {
  count_tensor_memory();
  const auto fit_with = [](const std::string& more) {
    return parse_options(digits_fit_with_layers(
        R"({"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 512}, {"@": "nn.ReLU"},
           {"@": "nn.Linear", "out_features": 512}, {"@": "nn.ReLU"}, {"@": "nn.Linear", "out_features": 10})",
        R"(, "steps": 40, "keep": "last", "loader": {"threads": 0})" + more));
  };
  const RunSettings settings = cpu_settings();
  const std::int64_t plain = predict_memory(plan_fit(fit_with(""), settings)).memory.training();
  // Without the options that the budget chooses, weights, gradients and the optimizer's state alone take more.
  const Options fit = fit_with(R"(, "memory": {"budget": ")" + std::to_string(7 * plain / 10) + R"( B"})");
  REQUIRE(plan_fit(fit, settings).offload_optimizer);
  const Options written = fit_with(R"(, "memory": {"offload": "optimizer"})");
  const Profile profile = profile_stage(fit, settings, {.seconds = 0.1});
  StepVerdict verdict;
  verdict.bottleneck = Bottleneck::evaluation;
  const WithSet same = [&](const Texts& set) { return set == Texts{"metrics=nil"} ? written : fit; };
  const TriedRemedies all = tried_remedies(profile, verdict, fit, settings, same, long_time());
  int tried = 0;
  for (const Remedy& one : all.all) {
    if (one.set.empty() || one.set.front().starts_with("--threads")) continue;
    INFO(one.set.front());
    ++tried;
    CHECK(one.reason == "");
    CHECK(one.result == (one.set == Texts{"metrics=nil"} ? "changes what the run reports" : "same bytes"));
    CHECK(std::abs(one.bytes.value_or(plain)) < plain / 20);
  }
  CHECK(tried == 2);
}

TEST_CASE("small steps are tried with fits of other seeds in one group") {
  const auto tried = [](const std::string& more) {
    const Options fit = parse_options(digits_fit(R"(, "steps": 40, "keep": "last")" + more));
    const RunSettings settings = cpu_settings();
    const Profile profile = profile_stage(fit, settings, {.seconds = 0.1});
    StepVerdict verdict;
    verdict.bottleneck = Bottleneck::launch;
    const WithSet refused = [](const std::vector<std::string>&) -> Options { throw recipe_error("no such option"); };
    const TriedRemedies all = tried_remedies(profile, verdict, fit, settings, refused, long_time());
    CHECK(all.joined.set.empty());  // a stack is no option of a fit
    const auto found = std::ranges::find_if(
        all.all, [](const Remedy& one) { return one.name.ends_with("repeats or trials in one stack"); });
    REQUIRE(found != all.all.end());
    CHECK(found->set.empty());
    return *found;
  };
  const Remedy stack = tried("");
  CHECK(stack.name == "32 repeats or trials in one stack");
  CHECK(stack.reason == "");
  CHECK(stack.ratio.median > 1);
  CHECK(stack.keeps_result());
  CHECK(tried(R"(, "memory": {"chunk_loss": true})").reason ==
        "the last layer and the loss of a fit with chunk_loss take no member axis");
}

TEST_CASE("each fit of a stack calls its own function at a validation") {
  // A function that takes many times as long as all else: a stack of such fits saves next to nothing.
  const at::Tensor square = at::ones({512, 512});
  const auto function = native([&](std::span<const Argument>) -> std::vector<Argument> {
    for (int i = 0; i < 4; ++i) at::mm(square, square);
    return {};
  });
  const Options fit = parse_options(
      digits_fit(
          R"(, "steps": 40, "keep": "last", "validate": "1 steps", "on": {"validate": {"@": "function", "index": 0}})"),
      {function});
  const RunSettings settings = cpu_settings();
  const Profile profile = profile_stage(fit, settings, {.seconds = 0.5});
  StepVerdict verdict;
  verdict.bottleneck = Bottleneck::launch;
  const WithSet refused = [](const Texts&) -> Options { throw recipe_error("no such option"); };
  const std::vector<Remedy> all = tried_remedies(profile, verdict, fit, settings, refused, long_time()).all;
  const auto stack = std::ranges::find_if(all, [](const Remedy& one) { return one.stack > 0; });
  REQUIRE(stack != all.end());
  CHECK(stack->reason == "");
  CHECK(stack->stack > 4);
  CHECK(stack->ratio.median > 0);
  CHECK(stack->ratio.median < 3);
}

}  // namespace trainlab::variant_test
