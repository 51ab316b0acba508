// Which remedies suit which verdict, and what trying them says.
#include <catch2/catch.hpp>

#include <algorithm>

#include "profile/remedies.h"
#include "support/fit_support.h"

namespace trainlab::remedies_test {

using namespace test;

namespace {

const Remedy* with_set(const std::vector<Remedy>& remedies, const std::string& set) {
  const auto found = std::ranges::find(remedies, set, &Remedy::set);
  return found == remedies.end() ? nullptr : &*found;
}

FitFacts facts() {
  return {.batch = 64, .samples = 1000, .validate_every = 10, .checkpoint_every = 20, .has_metrics = true, .cores = 4};
}

}  // namespace

TEST_CASE("remedies suit the verdict") {
  CHECK(with_set(remedies_for(Bottleneck::input, facts()), "loader.threads=2"));
  CHECK(with_set(remedies_for(Bottleneck::input, facts()), "loader.prefetch=16"));
  CHECK(with_set(remedies_for(Bottleneck::launch, facts()), "batch=128"));
  CHECK(with_set(remedies_for(Bottleneck::launch, facts()), "batch=256"));
  CHECK(with_set(remedies_for(Bottleneck::compute, facts()), "--threads 4"));
  CHECK(with_set(remedies_for(Bottleneck::optimizer, facts()), "accumulate=2"));
  CHECK(with_set(remedies_for(Bottleneck::evaluation, facts()), "validate=\"40 steps\""));
  CHECK(with_set(remedies_for(Bottleneck::evaluation, facts()), "metrics=nil"));
  CHECK(with_set(remedies_for(Bottleneck::checkpoint, facts()), "checkpoint=\"200 steps\""));
  CHECK(with_set(remedies_for(Bottleneck::contention, facts()), "loader.threads=0"));
  CHECK(remedies_for(Bottleneck::none, facts()).empty());
  CHECK_FALSE(with_set(remedies_for(Bottleneck::compute, facts()), "precision=\"bfloat16\""));
  FitFacts faster = facts();
  faster.bfloat16_time = 0.5;
  CHECK(with_set(remedies_for(Bottleneck::compute, faster), "precision=\"bfloat16\""));
  CHECK(with_set(remedies_for(Bottleneck::bandwidth, faster), "precision=\"bfloat16\""));
}

TEST_CASE("a remedy that cannot be tried has a reason") {
  FitFacts all = facts();
  all.loader_threads = 4;
  all.has_transforms = true;
  for (const Remedy& one : remedies_for(Bottleneck::input, all))
    CHECK(one.is_tried() == (one.set == "loader.prefetch=16"));
  all.samples = 100;
  for (const Remedy& one : remedies_for(Bottleneck::optimizer, all))
    if (one.name.find("batch") != std::string::npos) CHECK(one.reason == "the training part has 100 samples");
  all.threads = 4;
  CHECK_FALSE(remedies_for(Bottleneck::compute, all).front().is_tried());
  CHECK_FALSE(remedies_for(Bottleneck::synchronisation, all).front().is_tried());
}

TEST_CASE("remedies are tried beside the fit, and say whether its result stays") {
  const auto fit = [](const std::string& more) { return parse_options(digits_fit(R"(, "steps": 40)" + more)); };
  const RunSettings settings = cpu_settings();
  const ProfileOptions options{.seconds = 1};
  const Profile profile = profile_stage(fit(""), settings, {.seconds = 0.1});
  const WithSet changed = [&](const std::string& set) -> Options {
    if (set.starts_with("validate=")) return fit(R"(, "validate": "20 steps")");
    if (set == "metrics=nil") throw recipe_error("monitor: needs the metric");
    if (set.starts_with("batch=")) return fit(R"(, "loader": {"drop_last": true})");  // of the same batch
    throw recipe_error("no such option");
  };
  StepVerdict verdict;
  verdict.bottleneck = Bottleneck::evaluation;
  const std::vector<Remedy> remedies = try_remedies(profile, verdict, fit(""), settings, changed, options);
  const auto rarer = std::ranges::find_if(remedies, [](const Remedy& one) { return one.set.starts_with("validate="); });
  REQUIRE(rarer != remedies.end());
  CHECK(rarer->is_tried());
  CHECK(rarer->result == "same bytes");
  CHECK(rarer->ratio.low > 0);
  CHECK(rarer->ratio.low <= rarer->ratio.median);
  if (const Remedy* refused = with_set(remedies, "metrics=nil")) {
    CHECK(refused->reason == "monitor: needs the metric");
  }

  verdict.bottleneck = Bottleneck::transfer;
  const std::vector<Remedy> others = try_remedies(
      profile, verdict, fit(""), settings,
      [&](const std::string&) {
        std::string text = digits_fit(R"(, "steps": 40)");
        text.replace(text.find("0.005"), 5, "0.006");
        return parse_options(text);
      },
      options);
  REQUIRE(others.size() == 1);
  CHECK(others.front().result == "changes the result");
}

}  // namespace trainlab::remedies_test
