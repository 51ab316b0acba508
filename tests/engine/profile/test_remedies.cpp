// Which remedies suit which verdict, and what trying them says.
#include <catch2/catch.hpp>

#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <set>
#include <span>

#include "profile/remedies.h"
#include "support/fit_support.h"
#include "support/task_support.h"
#include "tensor/memory.h"
#include "train/memory_prediction.h"

namespace trainlab::remedies_test {

using namespace test;

namespace {

using Texts = std::vector<std::string>;

// The remedy of this single change.
const Remedy* with_set(const std::vector<Remedy>& remedies, const std::string& set) {
  const auto found = std::ranges::find(remedies, Texts{set}, &Remedy::set);
  return found == remedies.end() ? nullptr : &*found;
}

FitFacts facts() {
  return {.batch = 64, .samples = 1000, .validate_every = 10, .checkpoint_every = 20, .has_metrics = true, .cores = 4};
}

TriedRemedies tried_remedies(const Profile& profile, const StepVerdict& verdict, const Options& training,
                             const RunSettings& settings, const WithSet& with_set, const ProfileOptions& options,
                             const StageOfTraining& stage = {}) {
  TriedRemedies tried;
  try_remedies(tried, profile, verdict, training, settings, with_set, options, stage);
  return tried;
}

// Time for all remedies, on a busy machine too.
ProfileOptions long_time() { return {.seconds = 1000}; }

}  // namespace

TEST_CASE("remedies suit the verdict") {
  CHECK(with_set(remedies_for(Bottleneck::input, facts()), "loader.threads=2"));
  CHECK(with_set(remedies_for(Bottleneck::input, facts()), "loader.prefetch=16"));
  CHECK(with_set(remedies_for(Bottleneck::launch, facts()), "batch=128"));
  CHECK(with_set(remedies_for(Bottleneck::launch, facts()), "batch=256"));
  for (const Bottleneck verdict :
       {Bottleneck::compute, Bottleneck::bandwidth, Bottleneck::optimizer, Bottleneck::evaluation})
    CHECK(with_set(remedies_for(verdict, facts()), "--threads 4"));
  CHECK(with_set(remedies_for(Bottleneck::optimizer, facts()), "accumulate=2"));
  CHECK(with_set(remedies_for(Bottleneck::evaluation, facts()), "validate=\"40 steps\""));
  CHECK(with_set(remedies_for(Bottleneck::evaluation, facts()), "metrics=nil"));
  CHECK(with_set(remedies_for(Bottleneck::checkpoint, facts()), "checkpoint=\"200 steps\""));
  CHECK(with_set(remedies_for(Bottleneck::contention, facts()), "loader.threads=0"));
  CHECK(remedies_for(Bottleneck::none, facts()).empty());
  CHECK(with_set(remedies_for(Bottleneck::bandwidth, facts()), "batch=32"));
  CHECK(with_set(remedies_for(Bottleneck::capacity, facts()), "batch=\"auto\""));
  CHECK(with_set(remedies_for(Bottleneck::capacity, facts()), "memory.recompute=\"auto\""));
  CHECK(with_set(remedies_for(Bottleneck::capacity, facts()), "loader.threads=0"));
  CHECK_FALSE(with_set(remedies_for(Bottleneck::compute, facts()), "precision=\"bfloat16\""));
  FitFacts faster = facts();
  faster.bfloat16_time = 0.5;
  CHECK(with_set(remedies_for(Bottleneck::compute, faster), "precision=\"bfloat16\""));
  CHECK(with_set(remedies_for(Bottleneck::bandwidth, faster), "precision=\"bfloat16\""));
}

TEST_CASE("the loader gets as many threads as the step needs, and more than cores where they wait for files") {
  const auto set = [](std::int64_t now, LoaderNeeds needs) {
    FitFacts all = facts();
    all.loader_threads = now;
    all.loader_needs = needs;
    const Remedy more = remedies_for(Bottleneck::input, all).front();
    REQUIRE(more.name == "more loader threads");
    return more.set.empty() ? more.reason : more.set.front();
  };
  CHECK(set(1, {}) == "loader.threads=2");
  CHECK(set(1, {.threads = 3}) == "loader.threads=3");
  CHECK(set(1, {.threads = 40}) == "loader.threads=4");
  CHECK(set(1, {.threads = 1}) == "loader.threads=2");  // the step waits for it all the same
  CHECK(set(1, {.threads = 9, .wait = true}) == "loader.threads=9");
  CHECK(set(1, {.threads = 90, .wait = true}) == "loader.threads=16");
  CHECK(set(4, {.threads = 9}) == "the loader has 4 threads, and the process 4 cores");
  CHECK(set(0, {.threads = 3}) == "loader.threads=3");
}

TEST_CASE("where others take the cores, fewer threads of operators and of the loader are tried") {
  FitFacts all = facts();
  all.threads = 4;
  all.loader_threads = 4;
  std::vector<Remedy> remedies = remedies_for(Bottleneck::contention, all);
  for (const char* one : {"--threads 2", "--threads 1", "loader.threads=2", "loader.threads=0"})
    CHECK(with_set(remedies, one));
  all.threads = 2;
  all.loader_threads = 1;
  remedies = remedies_for(Bottleneck::contention, all);
  CHECK(remedies.size() == 2);
  CHECK(with_set(remedies, "--threads 1"));
  CHECK(with_set(remedies, "loader.threads=0"));
}

TEST_CASE("where the run's own threads compete for the cores, fewer of them are tried first, whatever the verdict") {
  FitFacts all = facts();
  all.threads = all.cores = 2;
  all.loader_threads = 4;
  CHECK_FALSE(with_set(remedies_for(Bottleneck::input, all), "--threads 1"));
  all.own_threads_compete = true;
  for (const Bottleneck verdict : {Bottleneck::input, Bottleneck::compute, Bottleneck::launch, Bottleneck::none}) {
    const std::vector<Remedy> remedies = remedies_for(verdict, all);
    REQUIRE(remedies.size() >= 3);
    CHECK(remedies[0].set == Texts{"--threads 1"});
    CHECK(remedies[1].set == Texts{"loader.threads=2"});
    CHECK(remedies[2].set == Texts{"loader.threads=0"});
    CHECK(std::ranges::count(remedies, Texts{"--threads 1"}, &Remedy::set) == 1);
  }
}

TEST_CASE("remedies that cannot be tried are named with the reason") {
  const auto reason = [](Bottleneck verdict, const std::string& name, const FitFacts& of) {
    const std::vector<Remedy> remedies = remedies_for(verdict, of);
    const auto found = std::ranges::find(remedies, name, &Remedy::name);
    return found == remedies.end() ? "" : found->reason;
  };
  FitFacts gpu = facts();
  gpu.is_synchronous = false;
  CHECK_THAT(reason(Bottleneck::launch, "graphs of whole steps", facts()), Catch::Contains("on the CPU"));
  CHECK_THAT(reason(Bottleneck::launch, "graphs of whole steps", gpu), Catch::Contains("launched by itself"));
  CHECK_THAT(reason(Bottleneck::transfer, "pinned transfers", gpu), Catch::Contains("pinned memory already"));
  CHECK_THAT(reason(Bottleneck::optimizer, "a fused optimizer", facts()), Catch::Contains("one pass"));
  CHECK_THAT(reason(Bottleneck::compute, "fewer steps", facts()), Catch::Contains("stop.forecast"));
  CHECK_THAT(reason(Bottleneck::bandwidth, "fewer steps", facts()), Catch::Contains("stop.forecast"));
}

TEST_CASE("where activations take much of the memory, less of them is a remedy for each verdict") {
  FitFacts much = facts();
  much.keeps_much = true;
  much.chain = 10;
  for (const Bottleneck verdict : {Bottleneck::none, Bottleneck::compute, Bottleneck::bandwidth}) {
    const std::vector<Remedy> remedies = remedies_for(verdict, much);
    CHECK(with_set(remedies, "memory.recompute=\"every 3\""));
    CHECK(std::ranges::count(remedies, Texts{"batch=32"}, &Remedy::set) == 1);
    CHECK(std::ranges::count(remedies, Texts{"batch=32", "accumulate=2"}, &Remedy::set) == 1);
    CHECK_FALSE(with_set(remedies_for(verdict, facts()), "memory.recompute=\"every 3\""));
  }
  // An epoch of other batches would leave out other samples.
  much.drops_last = true;
  for (const Remedy& one : remedies_for(Bottleneck::none, much)) CHECK(one.set.size() == 1);
  much.drops_last = false;
  much.batch = 33;  // whose halves are no whole numbers
  for (const Remedy& one : remedies_for(Bottleneck::none, much)) CHECK(one.set.size() == 1);
  much.batch = 1;
  CHECK(remedies_for(Bottleneck::none, much).front().reason == "a batch is one sample");
}

TEST_CASE("another layout is named with the reason why there is none to try") {
  const auto reason = [](Bottleneck verdict, const FitFacts& of) {
    const std::vector<Remedy> remedies = remedies_for(verdict, of);
    const auto found = std::ranges::find_if(remedies, [](const Remedy& one) {
      return one.name.starts_with("another layout") || one.name == "decoded images in a packed file";
    });
    return found == remedies.end() ? "" : found->reason;
  };
  FitFacts images = facts();
  images.has_convolutions = images.decodes_files = true;
  CHECK(reason(Bottleneck::compute, facts()) == "");
  CHECK(reason(Bottleneck::compute, images) ==
        "no option: convolutions have the layout that their library is fastest with");
  CHECK(reason(Bottleneck::bandwidth, images) == reason(Bottleneck::compute, images));
  CHECK(reason(Bottleneck::input, facts()) == "no option: samples lie in memory, each in one piece");
  CHECK(reason(Bottleneck::input, images) == "");
  CHECK(std::ranges::count(remedies_for(Bottleneck::input, images), true, &Remedy::packs) == 1);
}

TEST_CASE("where the passes or the optimizer take the time, smaller models are tried") {
  const auto with = [](const std::string& layers) {
    FitFacts all = facts();
    all.model.emplace(parse_options(digits_fit_with_layers(layers)));
    return all;
  };
  const auto has = [](const std::vector<Remedy>& remedies, const std::string& name) {
    return std::ranges::count_if(remedies, [&](const Remedy& one) { return one.name == name && one.is_tried(); }) == 1;
  };
  const FitFacts mlp = with(R"({"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 25}, {"@": "nn.GELU"},
      {"@": "nn.Linear", "out_features": 10})");
  for (const Bottleneck verdict : {Bottleneck::compute, Bottleneck::bandwidth, Bottleneck::optimizer}) {
    CHECK(has(remedies_for(verdict, mlp), "half the features of hidden layers"));
    CHECK(has(remedies_for(verdict, mlp), "ReLU in place of GELU") == (verdict == Bottleneck::bandwidth));
    CHECK_FALSE(has(remedies_for(verdict, mlp), "half as many repeated layers"));
  }
  const FitFacts deep = with(R"({"@": "nn.Repeat", "times": 4, "layer": {"@": "nn.Linear", "out_features": 8}},
      {"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 10})");
  CHECK(has(remedies_for(Bottleneck::compute, deep), "half as many repeated layers"));
  CHECK(has(remedies_for(Bottleneck::bandwidth, deep), "half as many repeated layers"));
  const FitFacts linear = with(R"({"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 10})");
  CHECK(remedies_for(Bottleneck::compute, linear).back().reason == "no hidden layer has a number of features");
  CHECK(remedies_for(Bottleneck::compute, facts()).back().reason ==
        "no option: the recipe has several models, or a loop of its own");
}

TEST_CASE("remedies for which no time is left are named with the time that would be enough") {
  const Options fit = parse_options(digits_fit(R"(, "steps": 40)"));
  const RunSettings settings = cpu_settings();
  const Profile profile = profile_stage(fit, settings, {.seconds = 0.1});
  StepVerdict verdict;
  verdict.bottleneck = Bottleneck::launch;
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

namespace {

// A profile of made-up times: for its first parts and for the trials it takes what a machine of a kind gives.
struct MadeUp {
  double fixed, part;    // seconds of the first parts, and the part of the profile's seconds that they take
  double trial, longer;  // seconds of a trial, and how much longer it is under a long limit
  std::int64_t changes;

  double before(double seconds) const { return fixed + part * seconds; }
  double trial_in(double seconds) const {
    const double share = (seconds - before(seconds)) / static_cast<double>(12 * (changes + 1));
    return trial + longer * std::clamp((share - 0.1) / 0.2, 0.0, 1.0);
  }
  std::int64_t tried(double seconds) const {
    const double left = (seconds - before(seconds)) / trial_in(seconds);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(left), 0, changes);
  }
  double promised(double seconds) const {
    const double one = trial_in(seconds), all = static_cast<double>(changes);
    const auto done = static_cast<double>(tried(seconds));
    return enough_seconds({.seconds = seconds,
                           .before = before(seconds),
                           .tried = done * one,
                           .missing = (all - done) * one + all * (trial + longer - one)});
  }
};

}  // namespace

TEST_CASE("the seconds that are promised to be enough are enough, and not many more than needed") {
  for (const double fixed : {0.2, 1.0, 3.0}) {
    for (const double part : {0.05, 0.3, 0.5}) {
      for (const double trial : {0.3, 1.0, 6.0}) {
        for (const std::int64_t changes : {1, 4, 9}) {
          const MadeUp made_up{fixed, part, trial, trial < 1 ? 0.8 : 0.1, changes};
          const double whole = (fixed + static_cast<double>(changes) * (trial + made_up.longer)) / (1 - part);
          double needed = 1;
          while (made_up.tried(needed) < changes) needed += 0.5;
          for (double seconds = 2; seconds < needed; seconds += 1) {
            INFO(fixed << " " << part << " " << trial << " " << changes << " in " << seconds);
            const double promised = made_up.promised(seconds);
            CHECK(promised > seconds);
            CHECK(made_up.tried(promised) == changes);
            CHECK(promised <= 2.5 * whole + 5);
          }
        }
      }
    }
  }
  // A number that a person would type.
  CHECK(enough_seconds({.seconds = 5, .before = 1, .tried = 2, .missing = 2}) == 7);
  CHECK(enough_seconds({.seconds = 10, .before = 3, .tried = 6, .missing = 7}) == 25);
  CHECK(enough_seconds({.seconds = 30, .before = 20, .tried = 0, .missing = 300}) == 780);
  CHECK(enough_seconds({.seconds = 0.5, .before = 2, .tried = 0, .missing = 0}) == 4);
  // A trial that was disturbed, and took 2 s longer, moves the promise by little.
  CHECK(enough_seconds({.seconds = 25, .before = 5, .tried = 18, .missing = 4}) == 35);
  CHECK(enough_seconds({.seconds = 25, .before = 5, .tried = 20, .missing = 4}) == 40);
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

TEST_CASE("rarer validations are a remedy where the function at validations takes the time") {
  FitFacts all = facts();
  CHECK_FALSE(with_set(remedies_for(Bottleneck::host, all), "validate=\"40 steps\""));
  all.functions_at_validations = true;
  all.decided_by_validations = "when on.validate is called";
  const std::vector<Remedy> remedies = remedies_for(Bottleneck::host, all);
  CHECK(remedies.front().set == Texts{"validate=\"40 steps\""});
  CHECK(remedies.front().same_weights == "may change the result: fewer validations decide when on.validate is called");
}

TEST_CASE("rarer checkpoints are a remedy where the function at checkpoints takes the time") {
  FitFacts all = facts();
  all.calls_at_checkpoints = true;
  const std::string set = "checkpoint=\"200 steps\"";
  CHECK_FALSE(with_set(remedies_for(Bottleneck::host, all), set));
  all.functions_at_checkpoints = true;
  const std::vector<Remedy> remedies = remedies_for(Bottleneck::host, all);
  CHECK(remedies.front().set == Texts{set});
  CHECK(remedies.front().same_weights ==
        "may change the result: fewer checkpoints decide when on.checkpoint is called");
}

TEST_CASE("functions that follow validations are known by what the fit calls, and by their part of the time") {
  const auto function = native([](std::span<const Argument>) -> std::vector<Argument> { return {}; });
  const std::string one = R"({"@": "function", "index": 0})", other = R"({"@": "function", "index": 1})";
  const auto validates_rarer = [&](const std::string& more, double seconds) {
    const Options fit =
        parse_options(digits_fit(R"(, "steps": 40, "validate": "2 steps")" + more), {function, function});
    Profile profile;
    profile.kind = "fit";
    profile.steps.mean = 1;
    profile.steps.callbacks = seconds / 2;
    profile.steps.validation_functions = seconds;
    profile.validation.every = 2;
    StepVerdict verdict;
    verdict.bottleneck = Bottleneck::host;
    return tried_remedies(profile, verdict, fit, cpu_settings(), {}, {}, {.together = 8}).all.front().name ==
           "validations a quarter as often";
  };
  CHECK(validates_rarer(R"(, "on": {"validate": )" + one + "}", 4));
  CHECK_FALSE(validates_rarer(R"(, "on": {"validate": )" + one + "}", 0.1));
  CHECK(validates_rarer(R"(, "stop": )" + one, 4));
  CHECK(validates_rarer(R"(, "stop": [{"@": "stop.patience"}, )" + one + "]", 4));
  CHECK_FALSE(validates_rarer(R"(, "stop": [{"@": "stop.patience"}])", 4));
  CHECK_FALSE(validates_rarer(R"(, "stop": )" + one + R"(, "on": {"step": )" + other + "}", 4));
  CHECK_FALSE(validates_rarer(R"(, "on": {"epoch": )" + one + R"(, "validate": )" + other + "}", 4));
}

TEST_CASE("the time of a function at checkpoints is that of rarer checkpoints") {
  const auto function = native([](std::span<const Argument>) -> std::vector<Argument> { return {}; });
  const Options fit =
      parse_options(digits_fit(R"(, "steps": 40, "on": {"checkpoint": {"@": "function", "index": 0}})"), {function});
  Profile profile;
  profile.kind = "fit";
  profile.steps.mean = 1;
  profile.checkpoint = {.seconds = 5, .every = 10};
  StepVerdict verdict;
  verdict.bottleneck = Bottleneck::host;
  const auto first = [&](double seconds) {
    profile.steps.commit_functions = seconds;
    return tried_remedies(profile, verdict, fit, cpu_settings(), {}, {}, {.together = 8}).all.front().name;
  };
  CHECK(first(4) == "checkpoints a tenth as often");
  CHECK(first(1) == "a batch 2 times as large");
}

TEST_CASE("columns of the text are as wide as their longest words") {
  TriedRemedies tried{.all = {Remedy{.name = "short", .reason = "one"},
                              Remedy{.name = "ReLU in place of GELU, SiLU and Tanh in each of the layers",
                                     .set = {"memory.recompute=\"every 30\"", "batch=1"},
                                     .reason = "two"}}};
  const std::string text = remedies_text(tried);
  std::set<std::size_t> columns;
  std::size_t line = text.find("  short");
  for (const char* reason : {"not tried: one", "not tried: two"}) {
    const std::size_t place = text.find(reason);
    REQUIRE(place != std::string::npos);
    columns.insert(place - line);
    line = text.find('\n', place) + 1;
  }
  CHECK(columns.size() == 1);
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
  verdict.bottleneck = Bottleneck::host;
  const WithSet quicker = [&](const Texts&) { return fit("1"); };
  const std::vector<Remedy> all = tried_remedies(profile, verdict, fit("0"), settings, quicker, long_time()).all;
  REQUIRE(with_set(all, "validate=\"4 steps\""));
  CHECK(with_set(all, "validate=\"4 steps\"")->ratio.median < 1.5);  // the function takes what it took in the profile
  REQUIRE(with_set(all, "batch=128"));
  CHECK(with_set(all, "batch=128")->ratio.median > 2);
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

TEST_CASE("a remedy that cannot be tried has a reason") {
  FitFacts all = facts();
  all.loader_threads = 4;
  all.has_transforms = all.decodes_files = true;
  CHECK(remedies_for(Bottleneck::input, all).size() == 3);
  for (const Remedy& one : remedies_for(Bottleneck::input, all))
    CHECK(one.is_tried() == (one.packs || one.set == Texts{"loader.prefetch=16"}));
  all.prefetch = 512;
  CHECK(with_set(remedies_for(Bottleneck::input, all), "loader.prefetch=1024"));
  const auto no_more = [&](std::int64_t prefetch, std::int64_t threads) {
    all.prefetch = prefetch;
    all.loader_threads = threads;
    const std::vector<Remedy> remedies = remedies_for(Bottleneck::input, all);
    return std::ranges::find(remedies, "more batches ahead", &Remedy::name)->reason;
  };
  CHECK(no_more(1024, 1) == "the loader makes 1024 batches ahead, the most there is");
  CHECK(no_more(4, 0) == "without loader threads no batch is made ahead");
  all.samples = 100;
  for (const Remedy& one : remedies_for(Bottleneck::optimizer, all))
    if (one.name.starts_with("a batch ")) CHECK(one.reason == "the training part has 100 samples");
  all.threads = 4;
  CHECK_FALSE(remedies_for(Bottleneck::compute, all).front().is_tried());
  CHECK_FALSE(remedies_for(Bottleneck::synchronisation, all).front().is_tried());
}

TEST_CASE("what does not help this fit is named with the reason") {
  const auto reason = [](Bottleneck verdict, const FitFacts& of, const std::string& name) -> std::string {
    const std::vector<Remedy> remedies = remedies_for(verdict, of);
    const auto found = std::ranges::find(remedies, name, &Remedy::name);
    return found == remedies.end() ? "left out" : found->reason;
  };
  FitFacts bare = facts();
  bare.has_metrics = false;
  bare.loader_threads = 0;
  CHECK(reason(Bottleneck::evaluation, bare, "no metrics beside the loss") == "the fit has none");
  CHECK(reason(Bottleneck::contention, bare, "no loader threads") == "the loader has none");
  for (const Bottleneck verdict : {Bottleneck::launch, Bottleneck::contention})
    CHECK(reason(verdict, bare, "other threads of operators") == "operators use 1 of 4 cores");
  const std::string unknown = "they are timed for a fit in float32 on the CPU";
  CHECK(reason(Bottleneck::compute, bare, "products in bfloat16") == unknown);
  bare.bfloat16_time = 1.5;
  CHECK(reason(Bottleneck::bandwidth, bare, "products in bfloat16") == "on this machine they take 1.50 times as long");
  bare.bfloat16_time = {};
  bare.own_time = 0.45;
  CHECK(reason(Bottleneck::compute, bare, "single precision") ==
        "products in the type of the fit take 0.45 times as long");
  bare.own_time = 12;
  CHECK(with_set(remedies_for(Bottleneck::compute, bare), "precision=\"float32\""));
}

TEST_CASE("where functions of the recipe take the time, transforms can become entries of the data") {
  FitFacts all = facts();
  CHECK(with_set(remedies_for(Bottleneck::host, all), "batch=128"));
  CHECK(with_set(remedies_for(Bottleneck::host, all), "accumulate=2"));
  const std::size_t without = remedies_for(Bottleneck::host, all).size();
  all.has_transforms = true;
  CHECK(remedies_for(Bottleneck::host, all).size() == without + 1);
  CHECK_FALSE(with_set(remedies_for(Bottleneck::host, all), "loader.threads=2"));
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

TEST_CASE("another model, another number of samples in a step and another precision always change the result") {
  FitFacts all = facts();
  all.bfloat16_time = 0.5;
  all.keeps_much = true;
  all.model.emplace(parse_options(digits_fit_with_layers(
      R"({"@": "nn.Flatten"}, {"@": "nn.Repeat", "times": 4, "layer": {"@": "nn.Linear", "out_features": 64}},
         {"@": "nn.GELU"}, {"@": "nn.Linear", "out_features": 10})")));
  std::set<std::string> changing, keeping;
  for (const Bottleneck verdict : {Bottleneck::input, Bottleneck::transfer, Bottleneck::host, Bottleneck::launch,
                                   Bottleneck::compute, Bottleneck::bandwidth, Bottleneck::optimizer,
                                   Bottleneck::evaluation, Bottleneck::checkpoint, Bottleneck::contention}) {
    for (const Remedy& one : remedies_for(verdict, all)) {
      if (!one.set.empty()) (one.always_changes ? changing : keeping).insert(words_of(one.set, " "));
    }
  }
  CHECK(keeping == std::set<std::string>{"--set batch=32 --set accumulate=2", "--set checkpoint=\"200 steps\"",
                                         "--set loader.prefetch=16", "--set loader.threads=0", "--set loader.threads=2",
                                         "--set memory.recompute=\"every 1\"", "--set metrics=nil",
                                         "--set validate=\"40 steps\"", "--threads 4"});
  CHECK(changing.contains("--set precision=\"bfloat16\""));
  CHECK(changing.contains("--set batch=128"));
  CHECK(changing.contains("--set batch=32"));
  CHECK(changing.contains("--set accumulate=2"));
  CHECK(std::ranges::count_if(changing, [](const std::string& one) { return one.starts_with("--set model["); }) == 3);
}

TEST_CASE("remedies that win and keep the result are joined where they are faster still together") {
  const auto remedy = [](const std::string& set, double median, const std::string& result = "same bytes") {
    return Remedy{.name = set, .set = {set}, .ratio = {median, median - 0.1, median + 0.1}, .result = result};
  };
  const std::vector<Remedy> all{remedy("a", 1.5), remedy("b", 3),   remedy("c", 1.01),
                                remedy("d", 2),   remedy("e", 1.2), remedy("f", 9, "changes the result")};
  std::vector<std::pair<Texts, Texts>> asked;
  const auto ratio = [&](const Texts& without, const Texts& with) -> std::optional<MedianInterval> {
    asked.emplace_back(without, with);
    if (with.back() == "d") return MedianInterval{0.9, 0.8, 1.1};  // no gain beside b
    if (with.back() == "a" && !without.empty()) return MedianInterval{1.4, 1.3, 1.5};
    if (with.back() == "e") return std::nullopt;
    return MedianInterval{4, 3.5, 4.5};
  };
  const JoinedRemedies joined = join_remedies(all, ratio);
  CHECK(joined.set == Texts{"b", "a"});
  CHECK(joined.ratio.median == 4);
  CHECK(asked == std::vector<std::pair<Texts, Texts>>{
                     {{"b"}, {"b", "d"}}, {{"b"}, {"b", "a"}}, {{"b", "a"}, {"b", "a", "e"}}, {{}, {"b", "a"}}});
  const auto no_whole = [&](const Texts& without, const Texts& with) -> std::optional<MedianInterval> {
    return without.empty() ? MedianInterval{1.1, 0.9, 1.3} : ratio(without, with);
  };
  // Neither the changes together nor the greatest of them alone are a gain when they are measured once more.
  CHECK(join_remedies(all, no_whole).set.empty());
  const auto alone = [&](const Texts& without, const Texts& with) -> std::optional<MedianInterval> {
    if (without.empty() && with.size() == 1) return MedianInterval{2, 1.8, 2.2};
    return no_whole(without, with);
  };
  CHECK(join_remedies(all, alone).set == Texts{"b"});
  CHECK(join_remedies(all, alone).ratio.median == 2);
  const auto no_time = [&](const Texts& without, const Texts& with) -> std::optional<MedianInterval> {
    return without.empty() ? std::nullopt : ratio(without, with);
  };
  CHECK(join_remedies(all, no_time).set == Texts{"b"});
  CHECK(join_remedies(all, no_time).ratio.median == 3);
  // One remedy alone is measured once more, too.
  asked.clear();
  Remedy of_two = all[1];
  of_two.set = {"b", "c"};
  CHECK(join_remedies({of_two}, ratio).set == Texts{"b", "c"});
  CHECK(join_remedies({of_two}, ratio).ratio.median == 4);
  CHECK(join_remedies({all[1]}, no_whole).set.empty());
  CHECK(asked == std::vector<std::pair<Texts, Texts>>(2, {{}, {"b", "c"}}));
  asked.clear();
  of_two.pairs = 4;  // too few for an interval
  CHECK(join_remedies({of_two}, ratio).set.empty());
  CHECK(join_remedies({all[2], all[5]}, ratio).set.empty());
  CHECK(asked.empty());
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

TEST_CASE("of a task, changes of a fit's options are left out") {
  FitFacts task{.threads = 1, .cores = 4, .is_task = true};
  const auto names = [&](Bottleneck verdict) {
    Texts all;
    for (const Remedy& one : remedies_for(verdict, task)) all.push_back(one.name);
    return all;
  };
  CHECK(names(Bottleneck::input).empty());
  CHECK(names(Bottleneck::evaluation) == Texts{"4 threads of operators"});
  CHECK(names(Bottleneck::host) == Texts{"less work in functions"});
  CHECK(names(Bottleneck::optimizer) == Texts{"4 threads of operators", "a fused optimizer"});
  CHECK(names(Bottleneck::contention) == Texts{"other threads of operators"});
  CHECK(names(Bottleneck::compute) == Texts{"4 threads of operators"});
  CHECK(names(Bottleneck::checkpoint).empty());
}

TEST_CASE("where other work takes the cores, remedies for the rest of a step are suggested in turn, and first") {
  const Options fit = parse_options(digits_fit(R"(, "steps": 40)"));
  RunSettings settings = cpu_settings();
  settings.threads = 2;
  const Profile profile = profile_stage(fit, settings, {.seconds = 0.1});
  StepVerdict verdict;
  verdict.bottleneck = Bottleneck::contention;
  verdict.otherwise = Bottleneck::launch;
  std::vector<std::string> names;
  for (const Remedy& one : tried_remedies(profile, verdict, fit, settings, {}, {}, {.together = 8}).all)
    names.push_back(one.name);
  CHECK(names == Texts{"1 thread of operators", "32 repeats or trials in one stack", "no loader threads",
                       "a batch 2 times as large", "a batch 4 times as large", "graphs of whole steps"});
  verdict.otherwise = Bottleneck::checkpoint;
  names.clear();
  for (const Remedy& one : tried_remedies(profile, verdict, fit, settings, {}, {}, {.together = 8}).all)
    names.push_back(one.name);
  CHECK(names == Texts{"checkpoints a tenth as often", "1 thread of operators", "no loader threads"});
}

TEST_CASE("changes of a trial stand below the option that builds it") {
  const Options fit = parse_options(digits_fit(R"(, "steps": 40)"));
  const RunSettings settings = cpu_settings();
  const Profile profile = profile_stage(fit, settings, {.seconds = 0.1});
  StepVerdict verdict;
  verdict.bottleneck = Bottleneck::transfer;
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

TEST_CASE("threads, which all stages of a run have, are tried for the first stage alone") {
  const Options fit = parse_options(digits_fit(R"(, "steps": 40)"));
  RunSettings settings = cpu_settings();
  settings.threads = 2;
  const Profile profile = profile_stage(fit, settings, {.seconds = 0.1});
  StepVerdict verdict;
  verdict.bottleneck = Bottleneck::launch;
  const WithSet unasked = [](const Texts&) -> Options { throw recipe_error("there was no time to ask"); };
  const auto reason = [&](bool is_first) {
    const ProfileOptions no_time{.seconds = 0.05, .steps_share = 0.2};
    const Remedy threads =
        tried_remedies(profile, verdict, fit, settings, unasked, no_time, {.is_first = is_first}).all.front();
    CHECK(threads.set == Texts{"--threads 1"});
    return threads.reason;
  };
  CHECK(reason(true).starts_with("no time left"));
  CHECK(reason(false) == "--threads is of all stages of a run, and those before this one were not profiled");
}

namespace {

Remedy changing(const std::string& set) { return {.name = set, .set = {set}, .result = "changes the result"}; }

// Sets the options `seed` and `optim.lr` of a small fit on digits.
Options digits_with(const std::vector<std::string>& texts) {
  std::string text = digits_fit(R"(, "epochs": 30)");
  for (const std::string& set : texts) {
    const std::size_t equals = set.find('=');
    const std::string option = set.substr(0, equals), value = set.substr(equals + 1);
    if (option == "seed") {
      text.insert(text.size() - 1, R"(, "seed": )" + value);
    } else if (option == "optim.lr") {
      text.replace(text.find("0.005"), 5, value);
    } else {
      throw recipe_error(option + ": no such option");
    }
  }
  return parse_options(text);
}

}  // namespace

TEST_CASE("remedies that change the result are judged by trainings of the same time with the same seeds") {
  const RunSettings settings = cpu_settings();
  const Profile profile = profile_stage(digits_with({}), settings, {.seconds = 0.1});
  TriedRemedies tried{.all = {changing("optim.lr=1e-9"), changing("optim.lr=1e30"), changing("units=4"),
                              changing("optim.lr=0.01"), changing("optim.lr=0.01")},
                      .joined = {.set = {"optim.lr=0.01", "--threads 1"}, .ratio = {3, 2, 4}}};
  std::vector<Remedy>& remedies = tried.all;
  remedies[3].result = "same to rounding";
  remedies[4].reason = "the fit refuses it";
  std::vector<std::vector<std::string>> trained;
  const WithSet with_set = [&](const std::vector<std::string>& texts) {
    trained.push_back(texts);
    return digits_with(texts);
  };
  judge_remedies(tried, profile, digits_with({}), settings, with_set, 6, [](const std::string&) {});

  REQUIRE(remedies[0].quality);
  const RemedyQuality& slow = *remedies[0].quality;
  CHECK(slow.reason == "");
  CHECK(slow.metric == "val.loss");
  CHECK(slow.minimize);
  CHECK(slow.seconds == Approx(0.6));
  CHECK(slow.judgement.pairs == 5);
  CHECK(slow.with > slow.without);
  CHECK(slow.judgement.difference.mean == Approx(slow.with - slow.without));
  CHECK(slow.judgement.difference.low <= slow.judgement.difference.mean);
  CHECK(slow.judgement.quality == compare::Quality::worse);
  // Seeds in order; the two sides of a pair take turns in beginning.
  const std::vector<Texts> first(trained.begin(), trained.begin() + 4);
  CHECK(first == std::vector<Texts>{{"seed=1"}, {"seed=1", "optim.lr=1e-9"}, {"seed=2", "optim.lr=1e-9"}, {"seed=2"}});

  REQUIRE(remedies[1].quality);
  CHECK(remedies[1].quality->judgement.b_failed == 5);
  CHECK(remedies[1].quality->judgement.a_failed == 0);
  REQUIRE(remedies[2].quality);
  CHECK(remedies[2].quality->reason == "units: no such option");
  CHECK_FALSE(remedies[3].quality);
  CHECK_FALSE(remedies[4].quality);

  const std::string text = remedies_text(tried);
  CHECK(
      text.ends_with("\n  to apply: --set optim.lr=0.01 --threads 1 3.00 (2.00 to 4.00); "
                     "later stages would have these threads, too\n"));
  CHECK(text.find("    quality: val.loss ") != std::string::npos);
  CHECK(text.find(", worse; 5 pairs, 600 ms each\n") != std::string::npos);
  CHECK(text.find("; 5 failed with the change, 0 without\n") != std::string::npos);
  CHECK(text.find("    quality: not judged: units: no such option\n") != std::string::npos);
  const Value value = remedies_value(tried);
  CHECK(value["applied"]["set"].list().size() == 2);
  CHECK(value["applied"]["ratio"]["low"] == Value(2.0));
  CHECK(remedies_value({.all = remedies})["applied"].is_nil());
  const Value list = value["remedies"];
  CHECK(list.list()[0]["quality"]["verdict"] == Value("worse"));
  CHECK(list.list()[0]["quality"]["difference"]["low"].number() > 0);
  CHECK(list.list()[2]["quality"]["verdict"].is_nil());
  CHECK(list.list()[3]["quality"].is_nil());
}

TEST_CASE(
    "where no change that changes the result was tried, the quality says so, and with which seconds it would be") {
  const RunSettings settings = cpu_settings();
  const auto error = [&](TriedRemedies tried) {
    return error_of([&] { judge_remedies(tried, {}, digits_with({}), settings, {}, 1, [](const std::string&) {}); });
  };
  Remedy keeps = changing("loader.threads=0");
  keeps.result = "same bytes";
  Remedy missing = changing("batch=128");
  missing.reason = "no time left (--seconds 20 tries all)";
  CHECK(error({.all = {keeps}}) == "no change that changes the result was tried");
  CHECK(error({.all = {keeps, missing}, .enough_seconds = 20}) ==
        "no change that changes the result was tried, and for some changes no time was left (--seconds 20 tries all)");
}

TEST_CASE("remedies are judged by the metric that the fit monitors, and need a validation part") {
  const auto metric = [](const std::string& fit) {
    return quality_metric(plan_fit(parse_options(fit), cpu_settings()));
  };
  CHECK(metric(digits_fit(R"(, "epochs": 1)")) == "val.loss");
  CHECK(metric(digits_fit(R"(, "epochs": 1, "monitor": "val.accuracy")")) == "val.accuracy");
  CHECK(metric(digits_fit(R"(, "epochs": 1, "monitor": "train.loss", "keep": "last")")) == "val.loss");
  std::string alone = digits_fit(R"(, "epochs": 1)");
  const std::string split = R"(, "train": 0.8, "val": 0.1, "test": 0.1, "seed": 7)";
  alone.replace(alone.find(split), split.size(), R"(, "train": 0.8, "test": 0.2)");
  CHECK(error_of([&] {
          metric(alone);
        }).starts_with("--quality: expected a fit with a validation part, found \"test\", which has none"));
}

}  // namespace trainlab::remedies_test
