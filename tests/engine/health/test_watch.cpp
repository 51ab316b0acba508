// Fits that are watched: what is read off the loop, on the CPU and on a device that computes by itself.
#include <ATen/ops/full_like.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "health/health.h"
#include "journal/checkpoint.h"
#include "run/budget.h"
#include "support/fit_support.h"
#include "support/overflowing_loss.h"
#include "support/stand_in_device.h"
#include "train/memory_prediction.h"
#include "watch/health_watch.h"

namespace trainlab::watch_test {

using namespace test;

namespace {

// The full_registry() with the option `health`.
const Registry& watched_registry() {
  static const Registry registry = [] {
    Registry all;
    register_fits(all, {health_addition()});
    return all;
  }();
  return registry;
}

struct Sick {
  std::string layers = R"({"@": "nn.Linear", "out_features": 24}, {"@": "nn.ReLU"})";
  std::string optim = R"({"@": "optim.SGD", "lr": 0.05, "momentum": 0.9})";
  std::string more = R"(, "epochs": 8)";
  int batch = 50;
  std::string data = R"({"@": "data:split", "source": {"@": "data.digits"}, "train": 0.6, "val": 0.2, "seed": 7})";
  std::shared_ptr<Callable> loss = {};       // in place of the cross-entropy
  std::shared_ptr<Callable> on_health = {};  // the function on.health
};

std::string text_of(const Sick& sick) {
  return R"({"@": "fit", "name": "test",
    "data": )" +
         sick.data + R"(, "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"}, )" + sick.layers +
         R"(, {"@": "nn.Linear", "out_features": 10}]}, "loss": )" +
         (sick.loss ? R"({"@": "function", "index": 0})" : R"("cross_entropy")") + R"(, "on": )" +
         (sick.on_health ? R"({"health": {"@": "function", "index": 1}})" : "{}") + R"(, "batch": )" +
         std::to_string(sick.batch) + R"(, "optim": )" + sick.optim + sick.more + "}";
}

Options watched_fit(const Sick& sick) {
  prepare_arithmetic(1);
  auto spec = std::make_shared<Spec>();
  spec->value = watched_registry().check(parse_json(text_of(sick), "test"), "fit");
  spec->functions = {sick.loss, sick.on_health};
  return {watched_registry(), spec, "fit"};
}

Value watch(const Sick& sick, std::vector<std::string>* said = nullptr, bool resumed = false,
            const std::filesystem::path& folder = {}, const std::string& clone_of = "") {
  const TemporaryFolder temporary;
  const RunSettings settings = test_settings();
  const Options options = watched_fit(sick);
  const FitPlan plan = plan_fit(options, settings);
  FitMember member{.options = options,
                   .context = quiet_context(folder.empty() ? temporary.path() : folder, settings, resumed)};
  member.context.clone_of = clone_of;
  if (said) member.context.say = [said](const std::string& line) { said->push_back(line); };
  FitCompany company;
  health_addition().join(plan, member, company);
  return run_fits(plan, {&member, 1}, false, company).front();
}

// The fit as a stage, which goes on with the fixes that it wants. `fixes`: those that an earlier process has recorded,
// which makes this process go on. `keep`: StageContext::keep_fixes.
Value fix(Sick sick, const std::filesystem::path& folder, const Value::List& fixes = {},
          const decltype(StageContext::keep_fixes)& keep = {}) {
  sick.more += R"(, "health": {"action": "fix"}, "metrics": ["accuracy"])";
  RunSettings settings = test_settings();
  settings.fixes = fixes;
  const Options stage = watched_fit(sick);
  StageContext context = quiet_context(folder, settings, !fixes.empty());
  if (keep) context.keep_fixes = keep;
  context.say_damage = [](const std::string& line) { FAIL("a fix is no damage: " << line); };
  return watched_registry().implementation<StageKind>(stage.entry()).prepare(stage, settings)(context);
}

// The validation loss of an epoch of 22 steps: it falls, rises, falls below its best, and rises again.
double turning_at(std::int64_t epoch) {
  const auto at = static_cast<double>(epoch);
  return at < 8    ? 2 - 0.1 * at
         : at < 16 ? 1.2 + 0.1 * (at - 8)
         : at < 28 ? 2 - 0.14 * (at - 16)
                   : 0.32 + 0.05 * (at - 28);
}

// The training loss is the cross-entropy.
std::shared_ptr<Callable> turning_loss() {
  return native([](Arguments arguments) -> Results {
    const at::Tensor& out = object_at<TensorObject>(arguments, 0).tensor;
    const at::Tensor y = object_at<BatchObject>(arguments, 1).columns.at("y");
    const at::Tensor loss = out.log_softmax(-1).gather(1, y.unsqueeze(1)).neg().mean();
    if (out.requires_grad()) return {std::make_shared<TensorObject>(loss)};
    return {std::make_shared<TensorObject>(
        at::full_like(loss, turning_at(object_at<RunHandle>(arguments, 2).step() / 22)))};
  });
}

std::string kinds(const Value& summary) {
  std::string all;
  for (const Value& verdict : summary["health"].list()) all += (all.empty() ? "" : " ") + verdict["kind"].string();
  return all;
}

// The fits as trials of a study, which train one after the other; the verdicts of each.
std::vector<std::string> kinds_of_trials(std::initializer_list<Sick> trials) {
  const JoinTrials join = health_addition().join_trials();
  const RunSettings settings = test_settings();
  std::vector<std::string> all;
  for (const Sick& trial : trials) {
    const TemporaryFolder folder;
    const Options options = watched_fit(trial);
    const FitPlan plan = plan_fit(options, settings);
    FitMember member{.options = options, .context = quiet_context(folder.path(), settings)};
    FitCompany company;
    join(plan, {&member, 1}, false, company);
    all.push_back(kinds(run_fits(plan, {&member, 1}, false, company).front()));
  }
  return all;
}

}  // namespace

TEST_CASE("healthy fits are silent") {
  for (const std::string optim : {R"({"@": "optim.SGD", "lr": 0.05, "momentum": 0.9})",
                                  R"({"@": "optim.AdamW", "lr": 0.003})", R"({"@": "optim.SGD", "lr": 0.2})"}) {
    INFO(optim);
    std::vector<std::string> said;
    CHECK(kinds(watch({.optim = optim}, &said)).empty());
    for (const std::string& line : said) CHECK(line.find("health:") == std::string::npos);
  }
}

TEST_CASE("a fault is told once, with evidence and a remedy") {
  std::vector<std::string> said;
  const Value summary = watch({.optim = R"({"@": "optim.SGD", "lr": 0.00005, "momentum": 0.9})"}, &said);
  REQUIRE(kinds(summary) == "rate_too_low");
  const Value& verdict = summary["health"].list().front();
  CHECK(verdict["confidence"] == Value("high"));
  CHECK(verdict["step"].integer() > 0);
  CHECK_THAT(verdict["remedy"].string(), Catch::Contains("lr = "));
  CHECK(std::ranges::count_if(said, [](const std::string& line) { return line.starts_with("health: "); }) == 1);
  CHECK(summary["status"] == Value("done"));
}

TEST_CASE("faults that the layers show") {
  CHECK(kinds(watch({.more = R"(, "epochs": 4, "init": {"2.bias": {"@": "init.constant", "value": -10}})"})) ==
        "dead_units");
  CHECK(kinds(watch({.layers = R"({"@": "nn.Linear", "out_features": 24}, {"@": "nn.Tanh"})",
                     .more = R"(, "epochs": 4, "init": {"2.weight": {"@": "init.normal", "std": 20}})"})) ==
        "saturated_units");
  CHECK(kinds(watch({.layers = R"({"@": "nn.Linear", "out_features": 24}, {"@": "nn.BatchNorm1d"}, {"@": "nn.ReLU"})",
                     .optim = R"({"@": "optim.SGD", "lr": 0.01})",
                     .more = R"(, "epochs": 1)",
                     .batch = 2})) == "small_batch_statistics");
}

TEST_CASE("weights that are all 0 at the beginning pass no gradients on, which is no rate that is too high") {
  CHECK(kinds(watch({.layers = R"({"@": "nn.Linear", "out_features": 24}, {"@": "nn.ReLU"},
        {"@": "nn.Linear", "out_features": 24}, {"@": "nn.ReLU"})",
                     .more = R"(, "epochs": 8, "init": {"*weight": {"@": "init.zeros"}})"})) == "vanishing_gradients");
}

TEST_CASE("a deep branch whose gradients vanish is found behind a first layer that learns") {
  const auto branch = [](const std::string& function, int depth) {
    std::string layers;
    for (int i = 0; i < depth; ++i)
      layers += R"({"@": "nn.Linear", "out_features": 24}, {"@": ")" + function + R"("}, )";
    return watch(
        {.layers = R"({"@": "nn.Linear", "out_features": 24}, {"@": "nn.ReLU"}, {"@": "nn.Residual", "body": [)" +
                   layers + R"({"@": "nn.Linear", "out_features": 24}]})"});
  };
  const Value sick = branch("nn.Sigmoid", 6);
  REQUIRE(kinds(sick) == "vanishing_gradients");
  CHECK_THAT(sick["health"].list().front()["evidence"].string(), Catch::Contains("the gradient of model.4."));
  CHECK(kinds(branch("nn.Tanh", 2)).empty());
}

TEST_CASE("a frozen batch normalisation takes no statistics of small batches") {
  Sick sick{.layers = R"({"@": "nn.Linear", "out_features": 24}, {"@": "nn.BatchNorm1d"}, {"@": "nn.ReLU"})",
            .optim = R"({"@": "optim.SGD", "lr": 0.01})",
            .more = R"(, "epochs": 1)",
            .batch = 8};
  REQUIRE_THAT(kinds(watch(sick)), Catch::Contains("small_batch_statistics"));
  sick.more += R"(, "freeze": ["2.*", "3.*"])";
  CHECK_THAT(kinds(watch(sick)), !Catch::Contains("small_batch_statistics"));
}

TEST_CASE("steps in float16 that are left out tell nothing about the health") {
  for (const std::string clip : {"", R"(, "clip": 1)", R"(, "clip": {"value": 1})"}) {
    INFO(clip);
    // Losses far above the others, of steps that are read in detail and of steps between them.
    const Value summary = watch(
        {.more = R"(, "epochs": 8, "precision": "float16")" + clip, .loss = overflowing({0, 1, 2, 8, 9, 33, 64, 70})});
    CHECK(summary["precision"]["skipped_steps"] == Value(8));
    CHECK(kinds(summary).empty());
  }
}

TEST_CASE("faults of a fit are told also where its layers are computed again, and where its loss goes in chunks") {
  const std::string collapsing = R"({"@": "optim.SGD", "lr": 3, "momentum": 0.9})";
  const std::string dying = R"(, "epochs": 4, "init": {"2.bias": {"@": "init.constant", "value": -10}})";
  for (const Sick& sick : {Sick{.optim = collapsing}, Sick{.more = dying}}) {
    const Value plain = watch(sick)["health"];
    REQUIRE(!plain.list().empty());
    for (const std::string memory : {R"("recompute": "every 2")", R"("recompute": "cheap")", R"("chunk_loss": true)"}) {
      INFO(memory);
      Sick lean = sick;
      lean.more += R"(, "memory": {)" + memory + "}";
      CHECK(to_json(watch(lean)["health"]) == to_json(plain));
    }
  }
}

TEST_CASE("the units of a one-dimensional convolution are its channels") {
  // Twelve of the 16 channels are dead at all places of the samples.
  const Value summary = watch({.layers = R"({"@": "nn.Reshape", "shape": [8, 8]},
        {"@": "nn.Concat", "dim": -2, "branches": [{"@": "nn.Conv1d", "out_channels": 4, "kernel_size": 3},
                                      {"@": "nn.Conv1d", "out_channels": 12, "kernel_size": 3}]},
        {"@": "nn.ReLU"}, {"@": "nn.Flatten"})",
                               .more = R"(, "epochs": 4, "init": {"3.2.bias": {"@": "init.constant", "value": -10}})"});
  CHECK(kinds(summary) == "dead_units");
}

TEST_CASE("a norm has its figures once, however often the fit is resumed") {
  const TemporaryFolder folder;
  Sick sick{.layers = R"({"@": "nn.Linear", "out_features": 24}, {"@": "nn.BatchNorm1d"}, {"@": "nn.ReLU"})"};
  for (int epochs = 1; epochs <= 3; ++epochs) {
    sick.more = R"(, "epochs": )" + std::to_string(epochs);
    watch(sick, nullptr, epochs > 1, folder.path());
    const Value info = CheckpointFolder::newest_info(folder.path() / "checkpoints");
    CHECK(info["health"]["figures"]["norms"].list().size() == 1);
  }
}

TEST_CASE("the losses of many steps are read at a validation, all of them") {
  const TemporaryFolder folder;
  watch({.more = R"(, "steps": 600, "validate": "600 steps")"}, nullptr, false, folder.path());
  const Value losses = CheckpointFolder::newest_info(folder.path() / "checkpoints")["health"]["figures"]["losses"];
  CHECK(losses["steps"] == Value(600));
}

TEST_CASE("the figures have whether the rate may still fall, which is no plateau then") {
  // Stops at the first of four validations.
  const auto may_fall = [](const std::string& schedule) {
    const TemporaryFolder folder;
    watch(
        {.more = R"(, "steps": 44, "validate": "11 steps", "stop": {"@": "stop.threshold", "below": 100})" + schedule},
        nullptr, false, folder.path());
    const Value info = CheckpointFolder::newest_info(folder.path() / "checkpoints");
    CHECK(info["step"] == Value(11));
    return info["health"]["figures"]["may_rate_fall"].boolean();
  };
  CHECK_FALSE(may_fall(""));
  CHECK(may_fall(R"(, "schedule": {"@": "sched.wsd", "decay": "10%"})"));
  CHECK(may_fall(R"(, "schedule": {"@": "sched.multi_step", "at": ["80%"]})"));
  CHECK(may_fall(R"(, "schedule": {"@": "sched.plateau", "patience": 1000})"));
  CHECK_FALSE(may_fall(R"(, "schedule": {"@": "sched.plateau", "floor": 1})"));
}

TEST_CASE("a rate that is far too high") {
  CHECK(kinds(watch({.optim = R"({"@": "optim.SGD", "lr": 5, "momentum": 0.9})"})) == "rate_too_high");
  CHECK(kinds(watch({.optim = R"({"@": "optim.AdamW", "lr": 1})"})) == "rate_too_high");
}

TEST_CASE("on.health hears of overfitting that comes again after it was taken back, with and without a resume") {
  const std::shared_ptr<Callable> turning = turning_loss();
  const auto heard = [&](std::initializer_list<int> ends) {
    const TemporaryFolder folder;
    std::string all;
    bool resumed = false;
    for (const int epochs : ends) {
      const auto hears = native([&all](Arguments arguments) -> Results {
        const Value& verdict = std::get<Value>(arguments[1]);
        all += verdict["kind"].string() + " " + std::to_string(verdict["step"].integer()) + "; ";
        return {};
      });
      const Sick sick{.more = R"(, "epochs": )" + std::to_string(epochs), .loss = turning, .on_health = hears};
      watch(sick, nullptr, resumed, folder.path());
      resumed = true;
    }
    return all;
  };
  const std::string whole = heard({50});
  INFO(whole);
  CHECK(std::ranges::count(whole, ';') == 2);
  CHECK(heard({14, 25, 27, 30, 50}) == whole);
}

TEST_CASE("overfitting of a trial is taken back without a word in the log") {
  CHECK(kinds_of_trials({{.more = R"(, "epochs": 16)", .loss = turning_loss()}}).front() == "overfitting");
  CHECK(kinds_of_trials({{.more = R"(, "epochs": 28)", .loss = turning_loss()}}).front().empty());
}

TEST_CASE("a member of a stack takes overfitting back without a word in the log") {
  const Options options = watched_fit({.more = R"(, "epochs": 28)"});
  const FitPlan plan = plan_fit(options, test_settings());
  HealthWatch member(plan, {}, nullptr);
  member.begin(0);
  bool is_told = false;
  for (std::int64_t epoch = 0; epoch < 28; ++epoch) {
    const double loss = 2.0 / static_cast<double>(epoch + 1);
    for (std::int64_t step = 22 * epoch; step < 22 * epoch + 22; ++step) member.add_loss(step, loss);
    member.validated(
        ValidationView{.step = 22 * epoch + 22, .metrics = {{"train.loss", loss}, {"val.loss", turning_at(epoch)}}});
    is_told = is_told || !member.verdicts().empty();
  }
  CHECK(is_told);
  CHECK(member.verdicts().empty());
}

TEST_CASE("losses after one that is not finite say nothing") {
  const Options options = watched_fit({});
  const FitPlan plan = plan_fit(options, test_settings());
  HealthWatch member(plan, {}, nullptr);
  member.begin(0);
  for (std::int64_t step = 0; step < 30; ++step) member.add_loss(step, 2);
  member.add_loss(30, std::nan(""));
  const std::string then = to_json(*member.part().state());
  for (std::int64_t step = 31; step < 80; ++step) member.add_loss(step, step % 2 == 0 ? 2 : std::nan(""));
  CHECK(to_json(*member.part().state()) == then);
}

TEST_CASE("a trial of other data than the trial before is judged by its own") {
  const Sick healthy;
  const Sick leaking{.data =
                         R"({"@": "data:append", "source": )" + healthy.data + R"(, "data": {"@": "data.digits"}})"};
  CHECK(kinds_of_trials({healthy, leaking, healthy}) == std::vector<std::string>{"", "leakage", ""});
}

TEST_CASE("a clone is not judged by what its parent has shown at other parameters") {
  const TemporaryFolder folder;
  const std::string low = R"({"@": "optim.SGD", "lr": 0.00005, "momentum": 0.9})";
  REQUIRE(kinds(watch({.optim = low, .more = R"(, "epochs": 8)"}, nullptr, false, folder.path())) == "rate_too_low");
  const Sick clone{.more = R"(, "health": {"action": "stop"}, "epochs": 10)"};
  const Value summary = watch(clone, nullptr, true, folder.path(), "trial 0");
  CHECK(kinds(summary).empty());
  CHECK(summary["status"] == Value("done"));
}

TEST_CASE("action stop ends the fit at a validation") {
  const Value summary = watch({.optim = R"({"@": "optim.SGD", "lr": 0.00005, "momentum": 0.9})",
                               .more = R"(, "epochs": 8, "health": {"action": "stop"})"});
  CHECK(summary["status"] == Value("stopped"));
  CHECK_THAT(summary["reason"].string(), Catch::StartsWith("health: rate_too_low: "));
  CHECK(summary["steps"].integer() < 8 * 22);
}

TEST_CASE("a fit that only a time bounds is judged by the steps that it will come to") {
  const FitPlan plan = plan_fit(watched_fit({.more = R"(, "time": "1 h")"}), test_settings());
  const auto kinds_after = [&](std::int64_t expected, const char* status, const char* reason) {
    HealthWatch watch(plan, RunFacts{.prior_loss = std::log(10.0)}, nullptr);
    for (std::int64_t step = 0; step < 400; ++step) {
      watch.add_loss(step, 2.3);
      watch.stepped(StepView{.step = step + 1, .total_steps = expected});
    }
    Value summary = Value::Map{{"status", status}, {"reason", reason}};
    watch.add_to(summary);
    return kinds(summary);
  };
  CHECK(kinds_after(10'000, "interrupted", "SIGTERM").empty());
  CHECK(kinds_after(500, "interrupted", "SIGTERM") == "underfitting");
  // 400 steps are the whole run, or the run was to be longer.
  CHECK(kinds_after(10'000, "done", own_time_is_used) == "underfitting");
  CHECK(kinds_after(10'000, "stopped", "enough").empty());
}

TEST_CASE("a validation renews how long a fit will be that only a time bounds") {
  const FitPlan plan = plan_fit(watched_fit({.more = R"(, "time": "1 h")"}), test_settings());
  const auto kinds_with = [&](std::int64_t expected) {
    HealthWatch member(plan, RunFacts{.prior_loss = std::log(10.0)}, nullptr);
    member.begin(0);
    for (std::int64_t step = 0; step < 400; ++step) member.add_loss(step, 2.3);
    member.validated(ValidationView{.step = 400, .total_steps = expected, .metrics = {{"train.loss", 2.3}}});
    Value summary = Value::Map{{"status", "interrupted"}};
    member.add_to(summary);
    return kinds(summary);
  };
  CHECK(kinds_with(10'000).empty());
  CHECK(kinds_with(500) == "underfitting");
}

TEST_CASE("action stop ends no fit for a guess") {
  const Value summary = watch({.optim = R"({"@": "optim.SGD", "lr": 0.004, "momentum": 0.9})",
                               .more = R"(, "epochs": 12, "health": {"action": "stop"})"});
  REQUIRE(kinds(summary) == "rate_too_low");
  REQUIRE(summary["health"].list().front()["confidence"] == Value("low"));
  CHECK(summary["status"] == Value("done"));
}

TEST_CASE("LBFGS without a line search gets the advice of another rate") {
  const Value summary = watch({.optim = R"({"@": "optim.LBFGS", "lr": 0.0001, "max_iter": 1})"});
  REQUIRE(kinds(summary) == "rate_too_low");
  CHECK_THAT(summary["health"].list().front()["remedy"].string(), Catch::StartsWith("lr = "));
}

TEST_CASE("action fix begins anew with the remedy") {
  const TemporaryFolder folder;
  const Value summary = fix({.optim = R"({"@": "optim.SGD", "lr": 5, "momentum": 0.9})"}, folder.path());
  REQUIRE(summary["fixes"].list().size() == 1);
  const Value& one = summary["fixes"].list().front();
  CHECK(one["kind"] == Value("rate_too_high"));
  CHECK(one["option"] == Value("lr"));
  CHECK(one["value"].number() < 5);
  CHECK(one["from"] == Value(0));
  CHECK(kinds(summary).empty());
  CHECK(summary["metrics"]["val.accuracy"].number() > 0.85);
}

TEST_CASE("on.health hears of a fault that is not fixed at the validation after, and of none that a fix ends") {
  std::string heard;
  const auto hears = native([&heard](Arguments arguments) -> Results {
    heard += std::get<Value>(arguments[1])["kind"].string() + " at step " +
             std::to_string(object_at<RunHandle>(arguments, 0).step()) + "; ";
    return {};
  });
  const TemporaryFolder folder;
  SECTION("one that ends") {
    const std::string dying = R"(, "epochs": 4, "init": {"2.bias": {"@": "init.constant", "value": -10}})";
    const Value summary =
        fix({.more = dying + R"(, "validate": "10 steps")", .batch = 100, .on_health = hears}, folder.path());
    REQUIRE(summary["fixes"].list().size() == 1);
    CHECK(summary["fixes"].list().front()["kind"] == Value("dead_units"));
    CHECK(summary["fixes"].list().front()["step"] == Value(10));  // a validation has shown it
    CHECK_THAT(heard, !Catch::Contains("dead_units"));
  }
  SECTION("one that stays, because the size of batches is not open") {
    if (test_settings().device != "cpu") return;  // a budget of memory is for the CPU
    const Sick sick{.layers = R"({"@": "nn.Linear", "out_features": 24}, {"@": "nn.BatchNorm1d"}, {"@": "nn.ReLU"})",
                    .optim = R"({"@": "optim.SGD", "lr": 0.01})",
                    .more = R"(, "steps": 28, "validate": "10 steps", "memory": {"budget": "1 GB"})",
                    .batch = 2,
                    .on_health = hears};
    CHECK(fix(sick, folder.path())["fixes"].is_nil());
    CHECK_THAT(heard, Catch::StartsWith("small_batch_statistics at step 20; "));
    CHECK(heard.find("small_batch_statistics") == heard.rfind("small_batch_statistics"));
  }
}

TEST_CASE("a process that dies as it records a fix loses nothing, and the next one goes back all the same") {
  const Sick sick{.optim = R"({"@": "optim.SGD", "lr": 5, "momentum": 0.9})",
                  .more = R"(, "epochs": 8, "checkpoint": "5 steps")"};
  const TemporaryFolder whole, died;
  const Value expected = fix(sick, whole.path());
  Value::List recorded;
  const auto dies = [&recorded](const Value::List& fixes, const std::string&) {
    recorded = fixes;
    throw run_error("the disk is full");
  };
  CHECK_THROWS_AS(fix(sick, died.path(), {}, dies), Error);
  REQUIRE(recorded.size() == 1);
  const auto checkpoints = died.path() / "checkpoints";
  REQUIRE(CheckpointFolder::newest_step(checkpoints) > recorded.front()["from"].integer());
  const Value summary = fix(sick, died.path(), recorded);
  CHECK(summary["metrics"] == expected["metrics"]);
  CHECK(summary["fixes"].list().size() == 1);
  CHECK(summary["steps"] == expected["steps"]);
}

TEST_CASE("the FLOPs of steps that a fix has thrown away count") {
  const TemporaryFolder folder;
  const Value plain = watch({.more = R"(, "epochs": 8, "metrics": ["accuracy"])"});
  const Value summary = fix({.optim = R"({"@": "optim.SGD", "lr": 5, "momentum": 0.9})"}, folder.path());
  const Value& one = summary["fixes"].list().back();
  REQUIRE(one["from"] == Value(0));
  const double step = plain["flops"].number() / plain["steps"].number();
  CHECK(one["flops"].number() == Approx(step * one["step"].number()).epsilon(0.1));
  CHECK(summary["flops"].number() == Approx(plain["flops"].number() + one["flops"].number()));
}

TEST_CASE("action fix goes back to the last good checkpoint, and may do so again") {
  const TemporaryFolder folder;
  const Value summary = fix({.optim = R"({"@": "optim.SGD", "lr": 5e-8, "momentum": 0.9})",
                             .more = R"(, "epochs": 40, "checkpoint": "1 epochs")"},
                            folder.path());
  const Value::List& fixes = summary["fixes"].list();
  REQUIRE(fixes.size() >= 2);
  std::int64_t before = 0;
  for (const Value& one : fixes) {
    CHECK(one["kind"] == Value("rate_too_low"));
    CHECK(one["from"].integer() > before);
    CHECK(one["step"].integer() >= one["from"].integer());
    before = one["from"].integer();
  }
  CHECK(fixes[1]["value"].number() > fixes[0]["value"].number());
  // The last rate learns; that a higher one may learn faster is told with low confidence, and not fixed.
  for (const Value& left : summary["health"].list()) CHECK(left["confidence"] == Value("low"));
  CHECK(summary["metrics"]["val.accuracy"].number() > 0.85);
  CHECK(summary["steps"] == Value(40 * 22));
}

TEST_CASE("what no fix can remedy is told") {
  const TemporaryFolder folder;
  const Sick slow{.optim = R"({"@": "optim.SGD", "lr": 0.00005, "momentum": 0.9})", .more = R"(, "steps": 64)"};
  const Sick bounded{.layers = R"({"@": "nn.Linear", "out_features": 24}, {"@": "nn.BatchNorm1d"}, {"@": "nn.ReLU"})",
                     .optim = R"({"@": "optim.SGD", "lr": 0.01})",
                     .more = R"(, "epochs": 1, "memory": {"budget": "1 GB"})",
                     .batch = 2};
  SECTION("at the end") {
    const Value summary = fix(slow, folder.path());
    CHECK(kinds(summary) == "rate_too_low");
    CHECK(summary["fixes"].is_nil());
  }
  SECTION("the size of batches under a budget of memory") {
    if (test_settings().device != "cpu") return;  // a budget of memory is for the CPU
    const Value summary = fix(bounded, folder.path());
    CHECK(kinds(summary) == "small_batch_statistics");
    CHECK(summary["fixes"].is_nil());
  }
}

TEST_CASE("a fault that may not be fixed is in the next checkpoint, so that a resume does not tell it again") {
  const TemporaryFolder folder;
  const RunSettings settings = test_settings();
  const Options options = watched_fit({.optim = R"({"@": "optim.SGD", "lr": 0.00005, "momentum": 0.9})",
                                       .more = R"(, "epochs": 8, "health": {"action": "fix"})"});
  const FitPlan plan = plan_fit(options, settings);
  FitMember member{.options = options, .context = quiet_context(folder.path(), settings)};
  SECTION("because more of a budget is used than is left") { member.context.most_flops = plan.flops_until(100); }
  SECTION("because it is seen at the last validation") { member.context.most_flops = plan.flops_until(60); }
  FitCompany company;
  health_addition().join(plan, member, company);
  const Value summary = run_fits(plan, {&member, 1}, false, company).front();
  REQUIRE(kinds(summary) == "rate_too_low");
  CHECK(summary["status"] == Value("stopped"));
  const Value info = CheckpointFolder::newest_info(folder.path() / "checkpoints");
  REQUIRE(info["step"] == summary["steps"]);
  CHECK(info["health"]["told"].list().size() == 1);
}

TEST_CASE("the memory that is predicted for a stack has the samples of its watch") {
  const Sick fit{.more = R"(, "epochs": 2)"};
  const FitPlan watched = plan_fit(watched_fit(fit), test_settings());
  const FitPlan plain = plan_fit(parse_options(text_of(fit)), test_settings());
  const auto in_steps = [](const FitPlan& plan) { return predict_memory(plan, 4).memory.in_steps; };
  // Four members, float32: 1536 values of the first matrix and 240 of the second, at least 256 and 240 of them.
  CHECK(in_steps(watched) - in_steps(plain) >= 4 * 4 * (256 + 240));
}

TEST_CASE("a watched fit computes the same as one that is not watched") {
  const TemporaryFolder temporary;
  const Sick fit{.more = R"(, "epochs": 2)"};
  const Value watched = watch(fit, nullptr, false, temporary.path());
  const TemporaryFolder other;
  const Value plain = run_one(parse_options(text_of(fit)), other.path());
  CHECK(watched["metrics"] == plain["metrics"]);
  CHECK(rows_without_seconds(temporary.path()) == rows_without_seconds(other.path()));
}

}  // namespace trainlab::watch_test
