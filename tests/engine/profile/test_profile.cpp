// Fits and tasks, profiled as the command does.
#include <catch2/catch.hpp>

#include <ATen/ops/ones.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "core/files.h"
#include "profile/beside.h"
#include "profile/layers.h"
#include "profile/profile.h"
#include "profile/record_memory.h"
#include "stage_profile.h"
#include "steps/measure.h"
#include "support/fit_support.h"
#include "support/overflowing_loss.h"
#include "support/task_support.h"

namespace trainlab::profile_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

double sum_of_shares(const Profile& profile) {
  double sum = 0;
  for (const auto& [name, share] : listed(shares_of(profile))) sum += share.value_or(0);
  return sum;
}

Profile profiled(const Options& stage, double seconds = 0.5) {
  RunSettings settings = cpu_settings();
  return profile_stage(stage, settings, {.seconds = seconds});
}

// The folders for temporary files are below a folder of the test's own while the object lives.
class OwnTemporaries {
 public:
  OwnTemporaries() { ::setenv("TMPDIR", folder_.path().c_str(), 1); }
  ~OwnTemporaries() { given_ ? ::setenv("TMPDIR", given_->c_str(), 1) : ::unsetenv("TMPDIR"); }
  OwnTemporaries(const OwnTemporaries&) = delete;
  const fs::path& path() const { return folder_.path(); }

 private:
  static std::optional<std::string> given() {
    const char* text = ::getenv("TMPDIR");
    return text ? std::optional<std::string>(text) : std::nullopt;
  }
  const TemporaryFolder folder_;
  const std::optional<std::string> given_ = given();
};

constexpr int no_process = 99'999'999;  // more than any system has

// The name of a folder with the number of another process instead of this one's.
std::string name_of(const fs::path& own, int process) {
  std::string name = own.filename().string();
  const std::size_t dot = name.rfind('.', name.rfind('.') - 1);
  return name.replace(dot + 1, name.find('-', dot) - dot - 1, std::to_string(process));
}

}  // namespace

TEST_CASE("profile: a fit's phases, its validations and checkpoints") {
  const OwnTemporaries temporaries;
  const Profile profile =
      profiled(parse_options(digits_fit(R"(, "steps": 60, "validate": "20 steps", "checkpoint": "30 steps")")));
  CHECK(fs::is_empty(temporaries.path()));
  CHECK(profile.kind == "fit");
  CHECK(profile.samples > 0);
  CHECK(profile.steps.steps > 0);
  CHECK(profile.steps.per_step(Phase::forward) > 0);
  CHECK(profile.steps.per_step(Phase::backward) > 0);
  CHECK(profile.steps.per_step(Phase::optimizer) > 0);
  CHECK(profile.steps.counted > 0);
  CHECK(profile.steps.operators_in(Phase::forward).calls > 3);
  CHECK(profile.steps.operators_in(Phase::backward).calls > 3);
  CHECK(*profile.validation.every == 20);
  CHECK(profile.validation.seconds.value() > 0);
  CHECK(*profile.checkpoint.every == 30);
  CHECK(profile.checkpoint.seconds.value() > 0);
  CHECK(profile.flops);
  CHECK(sum_of_shares(profile) == Approx(1));
}

TEST_CASE("profile: validation and checkpoint are measured where none came meanwhile") {
  const Profile profile = profiled(parse_options(digits_fit(R"(, "steps": 1000000, "validate": "500000 steps")")), 0.2);
  CHECK(*profile.validation.every == 500000);
  CHECK(profile.validation.seconds.value() > 0);
  CHECK(profile.checkpoint.seconds.value() > 0);
  CHECK(*profile.checkpoint.every >= 500000);
}

TEST_CASE("profile: a fit of very few steps has a verdict from repeated runs, or none") {
  const Profile profile = profiled(parse_options(digits_fit(R"(, "steps": 4)")), 0.2);
  CHECK(profile.steps.steps >= 3);
  const Profile shortest = profiled(parse_options(digits_fit(R"(, "steps": 1)")), 0.1);
  CHECK(sum_of_shares(shortest) == Approx(1));
}

TEST_CASE("profile: the time follows from the length of the whole stage, also where the steps are known early") {
  const auto allowed = [](const std::string& length) {
    const Options fit = parse_options(digits_fit(length));
    const RunSettings settings = cpu_settings();
    return profile_stage(fit, settings, {.seconds = 50, .by_length = true, .precision = 10}).allowed;
  };
  CHECK(allowed(R"(, "steps": 100000000)") == 50);
  CHECK(allowed(R"(, "time": "1000 s")") == 50);
  CHECK(allowed(R"(, "steps": 60)") < 50);
}

namespace {

void count_for_some_milliseconds() {
  volatile double x = 0;
  for (int i = 0; i < 20'000'000; ++i) x = x + 1;
}

}  // namespace

TEST_CASE("profile: functions of the recipe are told apart from operators") {
  const auto counts = native([](std::span<const Argument>) {
    count_for_some_milliseconds();
    return std::vector<Argument>{};
  });
  const Profile profile = profiled(
      parse_options(digits_fit(R"(, "steps": 40, "on": {"step": {"@": "function", "index": 0}})"), {counts}), 0.3);
  const Shares shares = shares_of(profile);
  CHECK(shares.recipe > shares.forward + shares.backward);  // some milliseconds against some microseconds
  const Options stops = parse_options(
      digits_fit(R"(, "steps": 40, "validate": "1 steps", "stop": [{"@": "function", "index": 0}])"), {counts});
  CHECK(shares_of(profiled(stops, 0.3)).recipe > 0.5);
}

namespace {

// The usual fit, whose loss is function 0.
std::string fit_with_own_loss(const std::string& more) {
  std::string json = digits_fit(more);
  const std::string loss = R"("loss": "cross_entropy")";
  return json.replace(json.find(loss), loss.size(), R"("loss": {"@": "function", "index": 0})");
}

// A cross entropy.
std::shared_ptr<Callable> slow_loss() {
  return native([loss = overflowing({})](std::span<const Argument> arguments) {
    count_for_some_milliseconds();
    return loss->call(arguments);
  });
}

// The forward pass of a layer that doubles its input.
std::shared_ptr<Callable> slow_forward() {
  return native([](std::span<const Argument> arguments) -> std::vector<Argument> {
    count_for_some_milliseconds();
    return {std::make_shared<TensorObject>(object_at<TensorObject>(arguments, 1).tensor.mul(2))};
  });
}

}  // namespace

TEST_CASE("profile: the forward pass of a layer of the recipe's own is a function of the recipe, in the layer's row") {
  const std::string json = digits_fit_with_layers(
      R"({"@": "nn.Flatten"}, {"@": "nn.Module", "forward": {"@": "function", "index": 0}},
         {"@": "nn.Linear", "out_features": 10})",
      R"(, "steps": 40)");
  const Options fit = parse_options(json, {slow_forward()});
  const Shares shares = shares_of(profiled(fit, 0.3));
  CHECK(shares.recipe > shares.forward + shares.backward);
  const LayerTable table = measure_layers(plan_fit(fit, cpu_settings()), {.first = 1, .count = 3});
  const auto is_of_layer = [](const LayerCost& row) { return row.path.find("Module") != row.path.npos; };
  REQUIRE(std::ranges::count_if(table.rows, is_of_layer) == 1);
  const LayerCost& layer = *std::ranges::find_if(table.rows, is_of_layer);
  CHECK(layer.path == "fit.model[2].Module");
  CHECK(layer.calls == 1);
  CHECK(layer.forward > 0.5 * table.step_seconds);
  CHECK(std::ranges::count(layer.operators, "aten::mul", &OperatorCost::name) == 1);
}

TEST_CASE("profile: a loss of the recipe's own is a function of the recipe, and its tensors belong to the loss") {
  const Options fit = parse_options(fit_with_own_loss(R"(, "steps": 40)"), {slow_loss()});
  const Shares shares = shares_of(profiled(fit, 0.3));
  CHECK(shares.recipe > shares.forward + shares.backward);
  CHECK(shares.forward > 0);  // its operators
  const MemoryLedger ledger = record_memory(plan_fit(fit, cpu_settings())).ledger;
  const auto found = std::ranges::find(ledger.layers, "loss", &MemoryLedger::Layer::path);
  REQUIRE(found != ledger.layers.end());
  CHECK(found->activations > 0);
}

TEST_CASE("profile: a failing fit says why") {
  const auto fails = native([](std::span<const Argument>) -> std::vector<Argument> { throw recipe_error("no"); });
  const Options fit =
      parse_options(digits_fit(R"(, "steps": 40, "on": {"step": {"@": "function", "index": 0}})"), {fails});
  const OwnTemporaries temporaries;
  CHECK(error_of([&] { profiled(fit); }).ends_with("no"));
  CHECK(fs::is_empty(temporaries.path()));
}

namespace {

// An on.start that fails when the stage is begun for the `last`th time.
std::shared_ptr<Callable> fails_in_run(int last) {
  return native([last, begun = 0](std::span<const Argument>) mutable -> std::vector<Argument> {
    if (++begun == last) throw recipe_error("begun again").hint("remove it");
    return {};
  });
}

// The measures as they are where other work takes no core, which would be the verdict.
Measures on_a_quiet_machine(const Profile& profile) {
  Measures m = measures_of(profile);
  m.run_queue = 0;
  return m;
}

bool tells(const StepVerdict& verdict, const std::string& begin) {
  return std::ranges::any_of(verdict.evidence, [&](const std::string& one) { return one.starts_with(begin); });
}

Options fit_that_fails_in_run(int last, const std::string& steps) {
  return parse_options(digits_fit(R"(, "on": {"start": {"@": "function", "index": 0}}, "steps": )" + steps),
                       {fails_in_run(last)});
}

}  // namespace

TEST_CASE("profile: where a further run of a short stage fails, the steps of the runs before hold") {
  const Profile profile = profiled(fit_that_fails_in_run(3, "20"), 5);
  CHECK(profile.steps.runs == 2);
  CHECK(profile.steps.counted > 0);
  CHECK(profile.steps.steps + profile.steps.counted == 2 * 15);  // a quarter of a short fit is cold
  CHECK_THAT(profile.steps.why_cut_short(),
             Catch::EndsWith("begun again; remove it; it came in run 3 of the stage, which is run again until enough "
                             "of it is measured"));
  const StepVerdict verdict = judge(on_a_quiet_machine(profile));
  CHECK(verdict.bottleneck != Bottleneck::unknown);
}

TEST_CASE("profile: an error in a further run of the stage says so where too few steps are timed") {
  std::string text;
  try {
    profiled(fit_that_fails_in_run(3, "3"), 5);
  } catch (const Error& error) {
    text = error.what();
  }
  CHECK_THAT(text, Catch::Contains("begun again") && Catch::Contains("remove it; it came in run 3 of the stage"));
  CHECK_THAT(error_of([&] { profiled(fit_that_fails_in_run(1, "3"), 5); }), !Catch::Contains("it came in run"));
}

TEST_CASE("profile: an error in a short run of a comparison or a remedy is one, whatever was timed before") {
  const Options fit = fit_that_fails_in_run(3, "20");
  const RunSettings settings = cpu_settings();
  FitPlan plan = plan_fit(fit, settings);
  const Measured how{.stage = fit, .settings = settings, .say = [](const std::string&) {}};
  CHECK_THAT(error_of([&] { short_profile(&plan, how, {.seconds = 5}); }), Catch::Contains("begun again"));
}

TEST_CASE("profile: a plan keeps its validations and checkpoints where a run of it fails") {
  const Options fit =
      parse_options(digits_fit(R"(, "steps": 1000000, "validate": "500000 steps", "checkpoint": "400000 steps",
                    "on": {"start": {"@": "function", "index": 0}})"),
                    {fails_in_run(2)});  // with a validation and a checkpoint after each step
  const RunSettings settings = cpu_settings();
  FitPlan plan = plan_fit(fit, settings);
  const Measured how{.stage = fit, .settings = settings, .say = [](const std::string&) {}};
  const Profile profile = profile_of_fit(plan, how, {.seconds = 0.1});
  CHECK_THAT(profile.steps.why_cut_short(), Catch::Contains("begun again") && Catch::Contains("it came in run 2 of"));
  CHECK(profile.steps.counted > 0);
  const StepVerdict verdict = judge(on_a_quiet_machine(profile));
  CHECK(verdict.bottleneck != Bottleneck::unknown);
  CHECK(verdict.confidence == "low");
  CHECK(tells(verdict, "How long validations and checkpoints take is unknown: the stage failed before they were"));
  CHECK(plan.validate_every == 500000);
  CHECK(plan.checkpoint.steps == 400000);
}

TEST_CASE("profile: a request to stop ends the measurement") {
  const auto stops = native([](std::span<const Argument>) {
    request_stop();
    return std::vector<Argument>{};
  });
  const Options fit =
      parse_options(digits_fit(R"(, "steps": 40, "on": {"step": {"@": "function", "index": 0}})"), {stops});
  CHECK(error_of([&] { profiled(fit); }) == "asked to stop while steps were measured");
  clear_stop_request();

  Registry registry;
  register_task(registry);
  const Options task = task_of(registry, [](TaskContext& own) {
    TaskLoopOptions options;
    options.steps = 1000;
    const auto loop = own.loop(options);
    while (loop->next()) request_stop();
  });
  CHECK(error_of([&] { profiled(task); }) == "asked to stop while steps were measured");
  clear_stop_request();
}

TEST_CASE("profile: the passes through a task's loop") {
  Registry registry;
  register_task(registry);
  const Part part = open_data(parse_options(R"({"@": "data.digits"})"), {.seed = 1}).train;
  const Options by_hand = task_of(registry, [&](TaskContext& task) {
    TaskLoopOptions options;
    options.part = part;
    options.loader.batch = 64;
    options.epochs = 2;
    const at::Tensor weight = at::ones({64});
    options.save = {weight};
    const auto loop = task.loop(options);
    while (loop->next()) weight.add_(loop->batch()->columns.at("x").flatten(1).mean(0));
  });
  const Profile profile = profiled(by_hand, 0.3);
  CHECK(profile.kind == "task");
  CHECK(profile.steps.steps > 0);
  CHECK(profile.steps.per_step(Phase::callback) > 0);
  CHECK(profile.steps.operators_in(Phase::callback).calls >= 2);
  CHECK(profile.steps.commit.count > 0);
  CHECK(sum_of_shares(profile) == Approx(1));
}

TEST_CASE("a measurement removes the folders of killed ones, and nothing else") {
  const OwnTemporaries temporaries;
  const fs::path& below = temporaries.path();
  std::string own;
  {
    const ScratchFolder folder;
    own = folder.path().filename().string();
    CHECK(folder.path().parent_path() == below);
    CHECK((fs::status(folder.path()).permissions() & fs::perms::others_all) == fs::perms::none);
  }
  CHECK(fs::is_empty(below));

  const fs::path killed = below / name_of(own, no_process);
  fs::create_directories(killed / "checkpoints");
  write_atomic(killed / "checkpoints/last", "");
  const fs::path elsewhere = below / "elsewhere";
  fs::create_directories(elsewhere / "data");
  std::set<std::string> stay{"elsewhere", name_of(own, ::getppid())};
  fs::create_directory(below / name_of(own, ::getppid()));  // of a process that lives
  const std::string link = name_of(own, no_process - 1), file = name_of(own, no_process - 2);
  fs::create_directory_symlink(elsewhere, below / link);
  write_atomic(below / file, "");
  stay.insert({link, file});
  const std::string other_machine = ".trainlab-profile.0123abcd." + std::to_string(no_process) + "-0.tmp";
  for (const std::string& name :
       {other_machine, std::string(".trainlab-profile.mine.tmp"), std::string("trainlab-profile-mine"),
        own.substr(0, own.rfind('.', own.rfind('.') - 1)) + ".mine-0.tmp"}) {
    fs::create_directory(below / name);
    stay.insert(name);
  }
  {
    const ScratchFolder folder;  // as one for each short run of a measurement, which removes nothing
    CHECK(fs::exists(killed));
  }
  const Options fit = parse_options(digits_fit(R"(, "steps": 20)"));
  const RunSettings settings = cpu_settings();
  const StageBeside side{.stage = fit, .settings = settings};
  SECTION("the profile of a stage") { profiled(fit, 0.01); }
  SECTION("two stages beside each other") { measure_beside(side, side, {.seconds = 0.1}); }
  std::set<std::string> left;
  for (const auto& entry : fs::directory_iterator(below)) left.insert(entry.path().filename().string());
  CHECK(left == stay);
  CHECK(fs::exists(elsewhere / "data"));
}

TEST_CASE("a folder for temporary files that is not there is an error with a hint") {
  const OwnTemporaries temporaries;
  ::setenv("TMPDIR", (temporaries.path() / "missing").c_str(), 1);
  CHECK_THROWS_WITH(ScratchFolder(), Catch::Contains("cannot make a folder for temporary files in"));
}

}  // namespace trainlab::profile_test
