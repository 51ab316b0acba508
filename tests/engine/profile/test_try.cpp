// Remedies that are tried beside the fit or the task.
#include <catch2/catch.hpp>

#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <span>
#include <string>

#include "remedies_support.h"
#include "support/task_support.h"

namespace trainlab::try_test {

using namespace test;

TEST_CASE("remedies for which no time is left are named with the time that would be enough") {
  const auto [fit, settings, profile] = ProfiledFit();
  const StepVerdict verdict = verdict_of(Bottleneck::launch);
  const WithSet unasked = [](const Texts&) -> Options { throw recipe_error("there was no time to ask"); };
  const TriedRemedies none =
      tried_remedies(profile, verdict, fit, settings, unasked, {.seconds = 0.05, .steps_share = 0.2});
  CHECK(none.joined.set.empty());
  CHECK(none.had_no_time);
  REQUIRE(none.all.size() == 5);
  CHECK(none.all.front().reason.starts_with("operators use 1 of "));  // whatever the time
  CHECK(none.all.back().name == "graphs of whole steps");
  for (const Remedy& one : std::span(none.all).subspan(1, 3)) {
    CHECK(one.reason.starts_with("no time left (--seconds "));
    CHECK(one.reason.ends_with(" tries all)"));
  }
}

TEST_CASE("each change has a first round before any has more of them") {
  const Options fit = parse_options(digits_fit(R"(, "steps": 40, "keep": "last")"));
  const RunSettings settings = cpu_settings();
  const Profile profile = profile_stage(fit, settings, {.seconds = 0.1});
  StepVerdict verdict;
  verdict.bottleneck = Bottleneck::host;
  std::vector<Texts> asked;
  const WithSet stopped = [&](const Texts& set) {
    asked.push_back(set);
    if (asked.size() == 3) throw Error(ErrorKind::interrupted, "asked to stop where a change has further rounds");
    return fit;
  };
  TriedRemedies tried;
  CHECK_THROWS_AS(try_remedies(tried, profile, verdict, fit, settings, stopped, long_time()), Error);
  REQUIRE(asked.size() == 3);
  CHECK(asked[0] == Texts{"batch=128"});
  CHECK(asked[1] == Texts{"accumulate=2"});
  CHECK((asked[2] == asked[0] || asked[2] == asked[1]));
  CHECK(tried.all[0].pairs == 2);
  CHECK(tried.all[1].pairs == 2);
  CHECK(tried.all[0].result == "changes the result");
  CHECK_FALSE(tried.enough_seconds);
}

TEST_CASE("an error in further rounds leaves the ratio of the first round, which is not applied") {
  const Options fit = parse_options(digits_fit(R"(, "steps": 40, "keep": "last")"));
  const RunSettings settings = cpu_settings();
  const Profile profile = profile_stage(fit, settings, {.seconds = 0.1});
  StepVerdict verdict;
  verdict.bottleneck = Bottleneck::transfer;
  int asked = 0;
  const WithSet once = [&](const Texts&) {
    if (++asked > 1) throw run_error("the disk is full");
    return fit;
  };
  const TriedRemedies tried = tried_remedies(profile, verdict, fit, settings, once, long_time());
  CHECK(asked == 2);
  const Remedy& batch = tried.all.front();
  CHECK(batch.reason == "");
  CHECK(batch.ended_by == "the disk is full");
  CHECK(batch.has_ratio());
  CHECK(batch.pairs == 2);
  CHECK(batch.changes_result());
  CHECK_FALSE(batch.wins());
  CHECK(tried.joined.set.empty());
  CHECK(remedies_text(tried).find(" in 2 pairs), changes the result; no more pairs: the disk is full\n") !=
        std::string::npos);
  const Value value = remedies_value(tried)["remedies"];
  CHECK(value.list()[0]["tried"] == Value(true));
  CHECK(value.list()[0]["ended_by"] == Value("the disk is full"));
}

TEST_CASE("a change that takes longer than there is time is not begun where those before it were refused") {
  const Options fit = parse_options(digits_fit(R"(, "steps": 40, "keep": "last")"));
  const RunSettings settings = cpu_settings();
  Profile profile = profile_stage(fit, settings, {.seconds = 0.1});
  profile.validation.seconds = 100;  // of each fit of a group
  StepVerdict verdict;
  verdict.bottleneck = Bottleneck::launch;
  const WithSet refused = [](const Texts&) -> Options { throw recipe_error("no such option"); };
  const TriedRemedies tried = tried_remedies(profile, verdict, fit, settings, refused, long_time());
  CHECK(with_set(tried.all, "batch=128")->reason == "no such option");
  const auto stack = std::ranges::find_if(tried.all, [](const Remedy& one) { return one.stack > 0; });
  REQUIRE(stack != tried.all.end());
  CHECK(stack->reason.starts_with("no time left (--seconds "));
}

TEST_CASE("functions at validations are measured again with a change that may touch them") {
  const at::Tensor square = at::ones({512, 512});
  const auto slow = native([&](std::span<const Argument>) -> std::vector<Argument> {
    for (int i = 0; i < 4; ++i) at::mm(square, square);
    return {};
  });
  const auto quick = native([](std::span<const Argument>) -> std::vector<Argument> { return {}; });
  const auto fit = [&](const std::string& index) {
    return parse_options(digits_fit(R"(, "steps": 40, "keep": "last", "validate": "1 steps", "on": {"validate":)"
                                    R"( {"@": "function", "index": )" +
                                    index + "}}"),
                         {slow, quick});
  };
  const RunSettings settings = cpu_settings();
  const Profile profile = profile_stage(fit("0"), settings, {.seconds = 0.5});
  StepVerdict verdict;
  verdict.bottleneck = Bottleneck::evaluation;
  const WithSet quicker = [&](const Texts&) { return fit("1"); };
  const std::vector<Remedy> all = tried_remedies(profile, verdict, fit("0"), settings, quicker, long_time()).all;
  REQUIRE(with_set(all, "validate=\"4 steps\""));
  CHECK(with_set(all, "validate=\"4 steps\"")->ratio.median < 1.5);  // the function takes what it took in the profile
  REQUIRE(with_set(all, "metrics=nil"));
  CHECK(with_set(all, "metrics=nil")->ratio.median > 2);
}

TEST_CASE("remedies that were tried stay where the rest is interrupted") {
  const Options fit = parse_options(digits_fit(R"(, "steps": 40, "keep": "last")"));
  const RunSettings settings = cpu_settings();
  const Profile profile = profile_stage(fit, settings, {.seconds = 0.1});
  StepVerdict verdict;
  verdict.bottleneck = Bottleneck::host;
  const WithSet stopped = [&](const Texts& set) -> Options {
    if (set.front().starts_with("accumulate=")) throw Error(ErrorKind::interrupted, "asked to stop");
    return fit;
  };
  TriedRemedies tried;
  CHECK_THROWS_AS(try_remedies(tried, profile, verdict, fit, settings, stopped, long_time()), Error);
  REQUIRE(tried.all.size() == 3);
  CHECK(tried.all[0].has_ratio());
  CHECK(tried.all[0].result == "changes the result");
  CHECK(tried.all[1].reason == "the trials ended before its turn");
  CHECK(tried.all[2].reason.starts_with("no option: "));
  CHECK(tried.joined.set.empty());
}

TEST_CASE("remedies are tried beside the fit, and say whether its result stays") {
  const auto fit = [](const std::string& more) {
    return parse_options(digits_fit(R"(, "steps": 40, "keep": "last")" + more));
  };
  const RunSettings settings = cpu_settings();
  const ProfileOptions options = long_time();
  const Profile profile = profile_stage(fit(""), settings, {.seconds = 0.1});
  bool needs_metrics = true;
  const WithSet changed = [&](const std::vector<std::string>& texts) -> Options {
    const std::string& set = texts.front();
    if (set.starts_with("validate=")) return fit(R"(, "validate": "20 steps")");
    if (set == "metrics=nil" && needs_metrics) throw recipe_error("monitor: needs the metric");
    if (set == "metrics=nil") {
      std::string text = digits_fit(R"(, "steps": 40, "keep": "last")");
      const std::string metrics = R"("metrics": ["accuracy"], )";
      return parse_options(text.erase(text.find(metrics), metrics.size()));
    }
    if (set.starts_with("batch=")) return fit(R"(, "loader": {"drop_last": true})");  // of the same batch
    throw recipe_error("no such option");
  };
  StepVerdict verdict;
  verdict.bottleneck = Bottleneck::evaluation;
  const std::vector<Remedy> remedies = tried_remedies(profile, verdict, fit(""), settings, changed, options).all;
  const auto rarer = std::ranges::find_if(
      remedies, [](const Remedy& one) { return !one.set.empty() && one.set.front().starts_with("validate="); });
  REQUIRE(rarer != remedies.end());
  CHECK(rarer->is_tried());
  CHECK(rarer->result == "same bytes");
  CHECK(rarer->ratio.low > 0);
  CHECK(rarer->ratio.low <= rarer->ratio.median);
  const Remedy* refused = with_set(remedies, "metrics=nil");
  REQUIRE(refused);
  CHECK(refused->reason == "monitor: needs the metric");
  needs_metrics = false;
  const std::vector<Remedy> again = tried_remedies(profile, verdict, fit(""), settings, changed, options).all;
  const Remedy* fewer = with_set(again, "metrics=nil");
  REQUIRE(fewer);
  CHECK(fewer->result == "changes what the run reports");
  CHECK_FALSE(fewer->keeps_result());

  const WithSet of_another_rate = [&](const std::vector<std::string>&) {
    std::string text = digits_fit(R"(, "steps": 40)");
    text.replace(text.find("0.005"), 5, "0.006");
    return parse_options(text);
  };
  const std::vector<Remedy> others = tried_remedies(profile, verdict, fit(""), settings, of_another_rate, options).all;
  const Remedy* without_metrics = with_set(others, "metrics=nil");
  REQUIRE(without_metrics);
  CHECK(without_metrics->result == "changes the result");

  // Another batch changes the result even where the weights do not show it.
  verdict.bottleneck = Bottleneck::transfer;
  const WithSet nothing = [&](const std::vector<std::string>&) { return fit(""); };
  const std::vector<Remedy> batch = tried_remedies(profile, verdict, fit(""), settings, nothing, options).all;
  REQUIRE(batch.size() == 2);
  CHECK(batch.back().name == "pinned transfers");
  CHECK(batch.front().result == "changes the result");
  CHECK_FALSE(batch.front().keeps_result());
}

TEST_CASE("fewer validations may change the result where validations decide something") {
  const RunSettings settings = cpu_settings();
  StepVerdict verdict;
  verdict.bottleneck = Bottleneck::evaluation;
  const auto result = [&](const std::string& more, const StageOfTraining& stage = {}) {
    const Options fit = parse_options(digits_fit(R"(, "steps": 40)" + more));
    const Profile profile = profile_stage(fit, settings, {.seconds = 0.1});
    const WithSet same = [&](const std::vector<std::string>&) { return fit; };
    const std::vector<Remedy> remedies = tried_remedies(profile, verdict, fit, settings, same, long_time(), stage).all;
    const auto rarer = std::ranges::find(remedies, "validations a quarter as often", &Remedy::name);
    REQUIRE(rarer != remedies.end());
    CHECK(rarer->reason == "");
    CHECK(rarer->keeps_result() != rarer->changes_result());
    return rarer->result;
  };
  const std::string may = "may change the result: fewer validations decide ";
  CHECK(result(R"(, "keep": "last")") == "same bytes");
  CHECK(result("") == may + "which weights are kept");
  CHECK(result(R"(, "stop": [{"@": "stop.patience"}])") ==
        may + "which weights are kept and when a stop rule ends the training");
  CHECK(result(R"(, "keep": "last", "schedule": {"lr": {"@": "sched.plateau"}})") == may + "when the rate falls");
  CHECK(result(R"(, "keep": "last")", {.validations_decide = true}) == may + "which trials go on");
}

namespace {

// A task whose loop multiplies a tensor; `saves`: and saves it.
Options task_of_steps(const Registry& registry, bool saves) {
  return task_of(registry, [saves](TaskContext& task) {
    TaskLoopOptions options;
    options.steps = 2000;
    const at::Tensor weight = at::ones({64, 64});
    if (saves) options.save = {weight};
    const auto loop = task.loop(options);
    while (loop->next()) weight.mul_(0.5).add_(at::ones({64, 64}).mm(weight), 1e-3);
  });
}

}  // namespace

TEST_CASE("of a task other threads are tried, and what its loops save is compared") {
  Registry registry;
  register_task(registry);
  RunSettings settings = cpu_settings();
  settings.threads = 2;
  StepVerdict verdict;
  verdict.bottleneck = Bottleneck::launch;
  for (const bool saves : {true, false}) {
    INFO(saves);
    const Options task = task_of_steps(registry, saves);
    const Profile profile = profile_stage(task, settings, {.seconds = 0.1});
    const std::vector<Remedy> remedies = tried_remedies(profile, verdict, task, settings, {}, long_time()).all;
    const Remedy* threads = with_set(remedies, "--threads 1");
    REQUIRE(threads);
    CHECK(threads->reason == "");
    CHECK(threads->ratio.low > 0);
    CHECK(threads->keeps_result() == saves);
    CHECK(threads->result.starts_with(saves ? "same " : "not compared: "));
    REQUIRE(remedies.size() == 2);  // no stack and no batch, which are options of a fit
    CHECK(remedies.back().name == "graphs of whole steps");
  }
}

TEST_CASE("changes of a trial stand below the option that builds it") {
  const auto [fit, settings, profile] = ProfiledFit();
  const StepVerdict verdict = verdict_of(Bottleneck::transfer);
  std::vector<std::string> asked;
  const WithSet built = [&](const std::vector<std::string>& texts) {
    asked = texts;
    return fit;
  };
  const auto tried = [&](const StageOfTraining& stage) {
    return tried_remedies(profile, verdict, fit, settings, built, long_time(), stage).all;
  };
  CHECK(tried({.path = "build."}).front().set.front().starts_with("build.batch="));
  REQUIRE(asked.size() == 1);
  CHECK(asked.front().starts_with("build.batch="));
  asked.clear();
  CHECK(tried({.path = "build.", .together = 8}).front().reason ==
        "the stage does 8 trainings together, and one by itself was profiled");
  CHECK(asked.empty());
}

}  // namespace trainlab::try_test
