// Which remedies suit which verdict and which fit.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <string>

#include "remedies_support.h"

namespace trainlab::suggest_test {

using namespace test;

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
  const auto [fit, settings, profile] = ProfiledFit(2);
  StepVerdict verdict = verdict_of(Bottleneck::contention, Bottleneck::launch);
  const auto names = [&] {
    Texts all;
    for (const Remedy& one : tried_remedies(profile, verdict, fit, settings, {}, {}, {.together = 8}).all)
      all.push_back(one.name);
    return all;
  };
  CHECK(names() == Texts{"1 thread of operators", "32 repeats or trials in one stack", "no loader threads",
                         "a batch 2 times as large", "a batch 4 times as large", "graphs of whole steps"});
  verdict.otherwise = Bottleneck::checkpoint;
  CHECK(names() == Texts{"checkpoints a tenth as often", "1 thread of operators", "no loader threads"});
}

TEST_CASE("threads, which all stages of a run have, are tried for the first stage alone") {
  const auto [fit, settings, profile] = ProfiledFit(2);
  const StepVerdict verdict = verdict_of(Bottleneck::launch);
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

}  // namespace trainlab::suggest_test
