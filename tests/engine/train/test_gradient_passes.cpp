// Gradient passes: their order, steps that they leave out, their errors; per-member clipping in stacks.
#include <ATen/ops/equal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "core/files.h"
#include "support/fit_support.h"
#include "support/last_checkpoint.h"
#include "support/stand_in_device.h"
#include "tensor/safetensors.h"

namespace trainlab::gradient_passes_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

using Apply = std::function<Verdict(std::span<at::Tensor>, const StepFacts&)>;

class TestPass final : public GradientPass {
 public:
  TestPass(std::string name, Apply apply, bool comes_before_clip = false)
      : name_(std::move(name)), apply_(std::move(apply)), comes_before_clip_(comes_before_clip) {}
  std::string_view name() const override { return name_; }
  bool comes_before_clip() const override { return comes_before_clip_; }
  Verdict apply(std::span<at::Tensor> gradients, const StepFacts& facts) override { return apply_(gradients, facts); }

 private:
  std::string name_;
  Apply apply_;
  bool comes_before_clip_;
};

std::shared_ptr<GradientPass> pass(std::string name, Apply apply) {
  return std::make_shared<TestPass>(std::move(name), std::move(apply));
}

// Leaves one row of each step from `first` on out.
std::shared_ptr<GradientPass> leaves_out(std::size_t row, std::int64_t first, bool only_again = false) {
  return pass("leave out", [=](std::span<at::Tensor>, const StepFacts& facts) {
    Verdict verdict;
    if (facts.step < first || (only_again && !facts.is_again)) return verdict;
    verdict.skipped.assign(facts.active.size(), 0);
    verdict.skipped[row] = 1;
    return verdict;
  });
}

double joint_norm(std::span<at::Tensor> gradients) {
  double squares = 0;
  for (const at::Tensor& gradient : gradients) squares += gradient.pow(2).sum().item<double>();
  return std::sqrt(squares);
}

Value run_with(const std::string& fit, const fs::path& folder, std::vector<std::shared_ptr<GradientPass>> passes,
               std::size_t members = 0, bool resumed = false, const std::vector<Resumable>& parts = {}) {
  const RunSettings settings = test_settings();
  prepare_arithmetic(1);
  const Options options = parse_options(fit);
  std::vector<FitMember> all;
  for (std::size_t m = 0; m < std::max<std::size_t>(members, 1); ++m) {
    const fs::path own = members ? folder / std::to_string(m) : folder;
    make_directories(own);
    all.push_back({.options = options, .context = quiet_context(own, settings, resumed), .parts = parts});
  }
  return run_fits(plan_fit(options, settings), all, members > 0, {.passes = std::move(passes)}).front();
}

std::string with_optimizer(std::string fit, const std::string& optimizer) {
  const std::string adamw = R"({"@": "optim.AdamW", "lr": 0.005})";
  return fit.replace(fit.find(adamw), adamw.size(), optimizer);
}

}  // namespace

TEST_CASE("passes come in order, after clipping by value and then by norm") {
  const TemporaryFolder temporary;
  std::vector<std::string> calls;
  double norm = 0, largest = 0;
  const auto first = pass("first", [&](std::span<at::Tensor> gradients, const StepFacts& facts) {
    calls.push_back("first " + std::to_string(facts.step));
    norm = joint_norm(gradients);
    for (const at::Tensor& gradient : gradients) largest = std::max(largest, gradient.abs().max().item<double>());
    CHECK(std::isfinite(facts.loss.item<double>()));
    CHECK(facts.members == 0);
    CHECK_FALSE(facts.is_again);
    for (at::Tensor& gradient : gradients) gradient = gradient.mul(0);
    return Verdict{};
  });
  const auto second = pass("second", [&](std::span<at::Tensor> gradients, const StepFacts& facts) {
    calls.push_back("second " + std::to_string(facts.step));
    CHECK(joint_norm(gradients) == 0);
    return Verdict{};
  });
  run_with(digits_fit(R"(, "steps": 2, "clip": {"norm": 0.01, "value": 0.001})"), temporary.path(), {first, second});
  CHECK(calls == std::vector<std::string>{"first 0", "second 0", "first 1", "second 1"});
  CHECK(norm == Approx(0.01).epsilon(1e-3));
  CHECK(largest <= 0.001);
}

TEST_CASE("a pass that asks for it sees the gradients before they are clipped") {
  const TemporaryFolder temporary;
  std::vector<double> norms;
  const Apply measure = [&](std::span<at::Tensor> gradients, const StepFacts&) {
    norms.push_back(joint_norm(gradients));
    return Verdict{};
  };
  run_with(digits_fit(R"(, "steps": 1, "clip": {"norm": 0.01})"), temporary.path(),
           {pass("after", measure), std::make_shared<TestPass>("before", measure, true)});
  REQUIRE(norms.size() == 2);
  CHECK(norms[0] > 0.1);
  CHECK(norms[1] == Approx(0.01).epsilon(1e-3));
}

TEST_CASE("accumulated gradients reach the passes once a step") {
  const TemporaryFolder temporary;
  int calls = 0;
  const auto count = pass("count", [&](std::span<at::Tensor>, const StepFacts&) { return ++calls, Verdict{}; });
  run_with(digits_fit(R"(, "steps": 3, "accumulate": 4)"), temporary.path(), {count});
  CHECK(calls == 3);
}

TEST_CASE("a step that a pass leaves out changes no weights, no optimizer state and no average") {
  const TemporaryFolder temporary;
  const std::string fit = digits_fit(R"(, "steps": 6, "ema": {"@": "ema"}, "checkpoint": "3 steps")");
  bool is_seen = false;
  const auto after = pass("after", [&](std::span<at::Tensor>, const StepFacts& facts) {
    is_seen = is_seen || facts.step >= 3;
    return Verdict{};
  });
  const Value summary = run_with(fit, temporary.path() / "left-out", {leaves_out(0, 3), after});
  CHECK(summary["steps"] == Value(6));
  CHECK_FALSE(is_seen);
  run_with(digits_fit(R"(, "steps": 3, "ema": {"@": "ema"})"), temporary.path() / "short", {});
  CHECK(same_tensors(last_checkpoint(temporary.path() / "left-out"), last_checkpoint(temporary.path() / "short")));
}

TEST_CASE("of a stack a pass leaves out single members, and the others do not notice") {
  const TemporaryFolder temporary;
  const std::string fit = digits_fit(R"(, "steps": 5, "clip": {"norm": 0.05})");
  run_with(fit, temporary.path() / "whole", {}, 3);
  run_with(fit, temporary.path() / "left-out", {leaves_out(1, 2)}, 3);
  run_with(digits_fit(R"(, "steps": 2, "clip": {"norm": 0.05})"), temporary.path() / "short", {}, 3);
  for (const char* member : {"0", "2"}) {
    CHECK(same_tensors(last_checkpoint(temporary.path() / "left-out" / member),
                       last_checkpoint(temporary.path() / "whole" / member)));
  }
  CHECK(same_tensors(last_checkpoint(temporary.path() / "left-out" / "1"),
                     last_checkpoint(temporary.path() / "short" / "1")));
}

TEST_CASE("a member that is left out in a further evaluation of the step is put back") {
  const TemporaryFolder temporary;
  for (const std::string optimizer :
       {R"({"@": "optim.SAM", "base": {"@": "optim.AdamW", "lr": 0.01}})", R"({"@": "optim.LBFGS", "max_iter": 4})",
        R"({"@": "optim.Lookahead", "k": 2, "base": {"@": "optim.SAM", "base": {"@": "optim.SGD", "lr": 0.1}}})"}) {
    INFO(optimizer);
    const fs::path folder = temporary.path() / std::to_string(std::hash<std::string>{}(optimizer));
    run_with(with_optimizer(digits_fit(R"(, "steps": 4)"), optimizer), folder / "left-out", {leaves_out(0, 2, true)});
    run_with(with_optimizer(digits_fit(R"(, "steps": 2)"), optimizer), folder / "short", {});
    CHECK(same_tensors(last_checkpoint(folder / "left-out"), last_checkpoint(folder / "short")));
  }
}

TEST_CASE("a pass that raises ends the fit with one error that names it, and the fit goes on to the same bytes") {
  const TemporaryFolder temporary;
  const std::string fit = digits_fit(R"(, "steps": 8, "checkpoint": "3 steps")");
  run_with(fit, temporary.path() / "whole", {});
  const auto raising = [](const std::function<void()>& raise) {
    return pass("test", [=](std::span<at::Tensor>, const StepFacts& facts) {
      if (facts.step == 4) raise();
      return Verdict{};
    });
  };
  const std::vector<std::pair<std::string, std::function<void()>>> errors{
      {"the scale is lost", [] { throw run_error("the scale is lost"); }},
      {"out of luck", [] { throw std::runtime_error("out of luck"); }},
      {"size",
       [] {
         (void)at::equal(at::Tensor(), at::Tensor().view({2, 3}));
       }},
  };
  for (const auto& [text, raise] : errors) {
    const fs::path folder = temporary.path() / text;
    const auto pass = raising(raise);
    const std::string said = error_of([&] { run_with(fit, folder, {pass}); });
    INFO(said);
    CHECK(said.find("gradient pass \"test\"") != std::string::npos);
    if (text != "size") CHECK(said.find(text) != std::string::npos);
    const Value rest = run_with(fit, folder, {}, 0, true);
    CHECK(rest["status"] == Value("done"));
    CHECK(rest["resumed"].list().at(0) == Value(3));
    CHECK(same_tensors(last_checkpoint(folder), last_checkpoint(temporary.path() / "whole")));
  }
}

TEST_CASE("a pass that raises ends a whole group, and the members go on to the same bytes") {
  const TemporaryFolder temporary;
  const std::string fit = digits_fit(R"(, "steps": 8, "checkpoint": "3 steps")");
  run_with(fit, temporary.path() / "whole", {}, 3);
  const auto raising = pass("test", [](std::span<at::Tensor>, const StepFacts& facts) {
    if (facts.step == 4) throw recipe_error("the scale is lost");
    return Verdict{};
  });
  const std::string said = error_of([&] { run_with(fit, temporary.path() / "rest", {raising}, 3); });
  CHECK_THAT(said, Catch::Contains("gradient pass \"test\": the scale is lost"));
  CHECK(run_with(fit, temporary.path() / "rest", {}, 3, true)["resumed"].list().at(0) == Value(3));
  for (const char* member : {"0", "1", "2"}) {
    CHECK(same_tensors(last_checkpoint(temporary.path() / "rest" / member),
                       last_checkpoint(temporary.path() / "whole" / member)));
  }
}

namespace {

// A scale that grows with the steps, and the running mean of the gradients, which is taken off: what a pass keeps
// beside the fit.
class RunningPass final : public GradientPass {
 public:
  explicit RunningPass(std::int64_t fails_at = -1) : fails_at_(fails_at) {}
  std::string_view name() const override { return "running"; }
  Verdict apply(std::span<at::Tensor> gradients, const StepFacts& facts) override {
    if (facts.step == fails_at_) throw run_error("the power is lost");
    at::Tensor& first = gradients.front();
    mean_ = mean_.defined() ? mean_.mul(0.5).add(first, 0.5) : first.clone();
    first = first.sub(mean_, 0.1);
    for (at::Tensor& gradient : gradients) gradient = gradient.mul(scale);
    scale *= 1.25;
    return {};
  }
  Resumable part() {
    return {.name = "running",
            .state = [this] { return Value(scale); },
            .tensors =
                [this] {
                  return NamedTensors{{"running.mean", mean_}};
                },
            .restore =
                [this](const Value& state, const NamedTensors& tensors) {
                  scale = state.number();
                  mean_ = tensors.at("running.mean").to(test_device());
                }};
  }
  double scale = 1;

 private:
  std::int64_t fails_at_;
  at::Tensor mean_;
};

}  // namespace

TEST_CASE("what a pass keeps in the checkpoints makes resume exact") {
  const TemporaryFolder temporary;
  const std::string fit =
      with_optimizer(digits_fit(R"(, "steps": 8, "checkpoint": "3 steps")"), R"({"@": "optim.SGD", "lr": 0.05})");
  for (const std::size_t members : {0, 2}) {
    const fs::path whole = temporary.path() / ("whole" + std::to_string(members));
    const fs::path rest = temporary.path() / ("rest" + std::to_string(members));
    const auto run = [&](const fs::path& folder, const std::shared_ptr<RunningPass>& running, bool resumed) {
      return run_with(fit, folder, {running}, members, resumed, {running->part()});
    };
    run(whole, std::make_shared<RunningPass>(), false);
    CHECK_THAT(error_of([&] { run(rest, std::make_shared<RunningPass>(5), false); }),
               Catch::Contains("the power is lost"));
    const auto again = std::make_shared<RunningPass>();
    CHECK(run(rest, again, true)["resumed"].list().at(0) == Value(3));
    CHECK(again->scale == Approx(std::pow(1.25, 8)));
    for (const char* member : members ? std::vector{"0", "1"} : std::vector{"."}) {
      const NamedTensors tensors = last_checkpoint(rest / member);
      CHECK(tensors.contains("running.mean"));
      CHECK(same_tensors(tensors, last_checkpoint(whole / member)));
    }
  }
}

TEST_CASE("a part from outside with a name that the fit uses itself is refused") {
  const TemporaryFolder temporary;
  const std::string fit = digits_fit(R"(, "steps": 2)");
  for (const std::string name : {"schedule", "epoch"}) {
    const Resumable named{.name = name, .state = [] { return Value(1); }};
    CHECK_THROWS_WITH(run_with(fit, temporary.path() / name, {}, 0, false, {named}),
                      "two parts of a checkpoint are named " + name);
  }
  const Resumable tensor{.name = "own", .tensors = [] { return NamedTensors{{"model.2.weight", at::Tensor()}}; }};
  CHECK_THROWS_WITH(run_with(fit, temporary.path() / "tensor", {}, 0, false, {tensor}),
                    "two parts of a checkpoint are named model.2.weight");
}

namespace {

// Ends a member at its first validation.
class EndsAtOnce final : public StopRule {
 public:
  std::optional<std::string> validated(const Progress&) override { return "seen enough"; }
};

}  // namespace

TEST_CASE("a pass is told which member each row is, also when others have left the group") {
  const TemporaryFolder temporary;
  const RunSettings settings = test_settings();
  const auto run = [&](const std::string& name, const std::shared_ptr<GradientPass>& own) {
    std::vector<FitMember> all;
    for (int m = 0; m < 5; ++m) {
      const fs::path folder = temporary.path() / name / std::to_string(m);
      make_directories(folder);
      all.push_back({.options = parse_options(
                         digits_fit(R"(, "steps": 6, "validate": "2 steps", "seed": )" + std::to_string(m + 1))),
                     .context = quiet_context(folder, settings)});
      if (m == 0 || m == 1 || m == 3 || m == 4) all.back().rules.push_back(std::make_shared<EndsAtOnce>());
    }
    prepare_arithmetic(1);
    run_fits(plan_fit(all.front().options, settings), all, true, {.passes = {own}});
  };
  std::vector<std::vector<std::size_t>> seen;
  run("whole", pass("see", [&](std::span<at::Tensor>, const StepFacts& facts) {
        seen.emplace_back(facts.places.begin(), facts.places.end());
        CHECK(facts.active.size() == std::max<std::size_t>(facts.places.size(), 2));
        return Verdict{};
      }));
  CHECK(seen == std::vector<std::vector<std::size_t>>{{0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}, {2}, {2}, {2}, {2}});
  // The member that stays is left out of its steps from the third on, in whichever row.
  run("left-out", pass("leave out", [](std::span<at::Tensor>, const StepFacts& facts) {
        Verdict verdict{.skipped = std::vector<std::uint8_t>(facts.active.size())};
        const auto row = std::ranges::find(facts.places, 2U) - facts.places.begin();
        verdict.skipped.at(static_cast<std::size_t>(row)) = facts.step >= 2;
        return verdict;
      }));
  const auto end = [&](const char* name, const char* member) {
    return last_checkpoint(temporary.path() / name / member);
  };
  CHECK_FALSE(same_tensors(end("left-out", "2"), end("whole", "2")));
  for (const char* member : {"0", "1", "3", "4"}) CHECK(same_tensors(end("left-out", member), end("whole", member)));
}

TEST_CASE("a verdict on another number of rows is refused") {
  const TemporaryFolder temporary;
  const auto wrong = pass("odd", [](std::span<at::Tensor>, const StepFacts&) { return Verdict{{1, 0, 1}}; });
  const std::string said = error_of([&] { run_with(digits_fit(R"(, "steps": 2)"), temporary.path(), {wrong}); });
  CHECK(said.find("gradient pass \"odd\": expected a verdict on 1 rows, found one on 3") != std::string::npos);
}

}  // namespace trainlab::gradient_passes_test
