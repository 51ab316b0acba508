// stop.evidence: its readings, and fits that have the rule.
#include <ATen/ops/allclose.h>
#include <ATen/ops/full.h>

#include <catch2/catch.hpp>

#include <limits>

#include "core/callable.h"
#include "core/files.h"
#include "support/fit_support.h"
#include "support/last_checkpoint.h"
#include "support/stand_in_device.h"
#include "tensor/dry_run.h"
#include "train/gradient_reader.h"
#include "train/memory_prediction.h"

namespace trainlab::stop_evidence_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

NamedTensors copied(const NamedTensors& tensors) {
  NamedTensors all;
  for (const auto& [name, tensor] : tensors) all.emplace(name, tensor.clone());
  return all;
}

std::unique_ptr<StopRule> rule(const std::string& options) {
  auto spec = std::make_shared<Spec>();
  spec->value = full_registry().check(parse_json(R"({"@": "stop.evidence")" + options + "}", "test"), "fit.stop");
  const Options read(full_registry(), spec, "fit.stop");
  return full_registry().implementation<StopFactory>(read.entry())(read, {});
}

// A training whose gradients are noise, which has the other sign in the second step of a pair, or have none.
struct Training {
  StopRule* rule;
  std::int64_t step = 0;

  void train(std::int64_t steps, bool is_noise) {
    for (const std::int64_t end = step + steps; step < end; ++step) {
      const at::Tensor gradient = at::full({2}, is_noise && step % 2 == 1 ? -0.5 : 0.5, on_test_device());
      rule->gradient_reader()->read(step, {&gradient, 1}, {});
    }
  }
  std::optional<std::string> validate() const {
    Progress progress;
    progress.step = step;
    return rule->validated(progress);
  }
  std::optional<std::string> go_on(std::int64_t steps, bool is_noise) {
    train(steps, is_noise);
    return validate();
  }
};

// As in another process, through the text of a checkpoint.
std::unique_ptr<StopRule> resumed(StopRule& before, const std::string& options) {
  std::unique_ptr<StopRule> after = rule(options);
  after->restore(parse_json(to_json(before.state()), "state"));
  after->gradient_reader()->restore_tensors(copied(before.gradient_reader()->tensors()));
  return after;
}

}  // namespace

TEST_CASE("the rule stops after a number of readings in a row") {
  const auto stop = rule(R"(, "times": 2, "steps": 4)");
  Training training{stop.get()};
  CHECK_FALSE(training.go_on(4, true));
  CHECK_FALSE(training.go_on(4, false));  // begins to count anew
  CHECK_FALSE(training.go_on(6, true));
  CHECK_FALSE(training.validate());  // the same weights are no second reading
  CHECK(training.go_on(6, true) ==
        "the gradients hold no evidence of further progress: noise is 200 % of their squares over 6 steps, and more "
        "than 100 % in 2 readings in a row");
}

TEST_CASE("a reading takes a number of steps, over several validations if these are closer") {
  const auto stop = rule(R"(, "times": 1, "steps": 6)");
  Training training{stop.get()};
  CHECK_FALSE(training.go_on(3, true));
  CHECK_FALSE(training.go_on(2, true));
  CHECK(training.go_on(2, true) ==
        "the gradients hold no evidence of further progress: noise is 200 % of their squares over 7 steps");
  // What lies before a reading does not count in the next one.
  CHECK_FALSE(training.go_on(6, false));
}

TEST_CASE("gradients without noise, zeros and values that are not finite never stop") {
  for (const double value : {1.0, 0.0, std::numeric_limits<double>::infinity()}) {
    const auto stop = rule(R"(, "times": 1, "steps": 2)");
    for (std::int64_t step = 0; step < 4; ++step) {
      const at::Tensor gradient = at::full({2}, value, on_test_device());
      stop->gradient_reader()->read(step, {&gradient, 1}, {});
    }
    Progress progress;
    progress.step = 4;
    CHECK_FALSE(stop->validated(progress));
  }
}

TEST_CASE("a rule that is asked again about a validation gives the same answer") {
  const std::string options = R"(, "times": 1, "steps": 4)";
  const auto stop = rule(options);
  Training training{stop.get()};
  training.train(4, true);
  const Value before = stop->state();
  const std::optional<std::string> reason = training.validate();
  REQUIRE(reason);
  stop->restore(before);
  // So does one in the process that goes on after the error for which it is asked again.
  const auto after = resumed(*stop, options);
  CHECK(training.validate() == reason);
  CHECK(Training{after.get(), training.step}.validate() == reason);
}

TEST_CASE("a rule that goes on after a resume reads what it would have read") {
  const std::string options = R"(, "times": 2, "steps": 4)";
  for (std::int64_t cut = 0; cut < 15; ++cut) {
    INFO(cut);
    std::unique_ptr<StopRule> stop = rule(options);
    Training training{stop.get()};
    std::string reasons;
    while (training.step < 15) {
      if (training.step == cut) {
        stop = resumed(*stop, options);
        training.rule = stop.get();
      }
      training.train(1, true);
      if (training.step % 5 == 0) reasons += training.validate().value_or("not yet; ");
    }
    const std::string reason =
        "the gradients hold no evidence of further progress: noise is 200 % of their squares over 5 steps, and more "
        "than 100 % in 2 readings in a row";
    CHECK(reasons == "not yet; " + reason + reason);
  }
}

namespace {

// Ends a member at its first validation.
class EndsSoon final : public StopRule {
 public:
  std::optional<std::string> validated(const Progress&) override { return "seen enough"; }
};

std::string with_rule(const std::string& rule_options, const std::string& more) {
  return digits_fit(R"(, "stop": {"@": "stop.evidence")" + rule_options + "}" + more);
}

// The state of the rule and the position of the fit, in the newest checkpoint.
std::string rule_state(const fs::path& folder) {
  fs::path newest;
  for (const auto& entry : fs::directory_iterator(folder / "checkpoints")) {
    const std::string name = entry.path().filename();
    if (name.starts_with("last-") && name.ends_with(".json")) newest = std::max(newest, entry.path());
  }
  return to_json(parse_json(read_file(newest), "checkpoint")["stop_rules"]);
}

bool is_near(const at::Tensor& a, const at::Tensor& b) {
  return at::allclose(a.to(at::kDouble), b.to(at::kDouble), 1e-3, 1e-7);
}

// The sums of the rule, by name.
NamedTensors sums_of(const fs::path& folder) { return tensors_below(last_checkpoint(folder), "stop.1."); }

}  // namespace

TEST_CASE("a fit whose gradients become noise stops, and says why") {
  const TemporaryFolder temporary;
  const std::string fit = with_rule(R"(, "times": 1, "steps": 2)", R"(, "epochs": 60, "validate": "2 steps")");
  const Value summary = run_one(parse_options(fit), temporary.path());
  CHECK(summary["status"] == Value("stopped"));
  CHECK_THAT(summary["reason"].string(), Catch::StartsWith("the gradients hold no evidence of further progress: noise "
                                                           "is 1"));
  CHECK(summary["steps"].integer() > 2);
}

TEST_CASE("a fit that is interrupted within a reading goes on to the same bytes") {
  const TemporaryFolder temporary;
  // The last reading is not over at the end, so that the last checkpoint has its sums.
  const std::string text =
      with_rule(R"(, "times": 100, "steps": 5)",
                R"(, "steps": 17, "validate": "7 steps", "on": {"step": {"@": "function", "index": 0}})");
  const Options fit = parse_options(text, {stop_at(0)});
  run_one(fit, temporary.path() / "whole");
  const NamedTensors sums = sums_of(temporary.path() / "whole");
  CHECK(sums.contains("squares.0"));
  CHECK(sums.contains("first.0"));
  for (const std::int64_t step : {1, 2, 9, 14, 16}) {
    INFO("interrupted at step " << step);
    const fs::path folder = temporary.path() / std::to_string(step);
    {
      const ClearStop clear;
      CHECK(run_one(parse_options(text, {stop_at(step)}), folder)["status"] == Value("interrupted"));
    }
    CHECK(run_one(fit, folder, true)["status"] == Value("done"));
    CHECK(same_tensors(last_checkpoint(folder), last_checkpoint(temporary.path() / "whole")));
    CHECK(rule_state(folder) == rule_state(temporary.path() / "whole"));
  }
}

TEST_CASE("members of a stack read their own gradients, also when others have left") {
  const TemporaryFolder temporary;
  const RunSettings settings = test_settings();
  const std::string length = R"(, "steps": 15, "validate": "4 steps", "clip": {"norm": 0.1}, "seed": )";
  std::vector<FitMember> members;
  for (int m = 0; m < 5; ++m) {
    const fs::path folder = temporary.path() / ("stack" + std::to_string(m));
    make_directories(folder);
    // One has no such rule, and three leave after the first validation.
    const std::string text = m == 1 ? digits_fit(length + "2") : with_rule("", length + std::to_string(m + 1));
    members.push_back({.options = parse_options(with_optimizer(text, R"({"@": "optim.SGD", "lr": 0.1})")),
                       .context = quiet_context(folder, settings)});
    if (m == 0 || m == 2 || m == 3) members.back().rules.push_back(std::make_shared<EndsSoon>());
  }
  prepare_arithmetic(1);
  run_fits(plan_fit(members.front().options, settings), members, true);
  CHECK(sums_of(temporary.path() / "stack1").empty());
  for (const int m : {0, 4}) {
    INFO(m);
    const fs::path alone = temporary.path() / ("alone" + std::to_string(m));
    make_directories(alone);
    FitMember member{.options = members[static_cast<std::size_t>(m)].options,
                     .context = quiet_context(alone, settings)};
    member.rules = members[static_cast<std::size_t>(m)].rules;
    run_fits(plan_fit(member.options, settings), {&member, 1}, false);
    const NamedTensors expected = sums_of(alone), found = sums_of(temporary.path() / ("stack" + std::to_string(m)));
    REQUIRE(expected.contains("squares.0"));
    REQUIRE(found.size() == expected.size());
    for (const auto& [name, tensor] : expected) CHECK(is_near(found.at(name), tensor));
  }
}

TEST_CASE("the rule reads gradients of whole steps before they are clipped") {
  const TemporaryFolder temporary;
  const auto first = [&](const std::string& name, const std::string& more) {
    run_one(parse_options(with_rule("", R"(, "steps": 1)" + more)), temporary.path() / name);
    return sums_of(temporary.path() / name);
  };
  const NamedTensors plain = first("plain", "");
  REQUIRE(plain.contains("first.3"));
  CHECK(same_tensors(first("clipped", R"(, "clip": {"norm": 1e-4})"), plain));
  // The same samples in two parts, but for the masks of dropout.
  const auto without_dropout = [&](const std::string& name, const std::string& more) {
    std::string text = with_rule("", R"(, "steps": 1)" + more);
    const std::string p = R"("p": 0.1)";
    text.replace(text.find(p), p.size(), R"("p": 0)");
    const std::string batch = R"("batch": 64)";
    if (more.empty()) text.replace(text.find(batch), batch.size(), R"("batch": 128)");
    run_one(parse_options(text), temporary.path() / name);
    return sums_of(temporary.path() / name);
  };
  const NamedTensors once = without_dropout("once", ""), parts = without_dropout("parts", R"(, "accumulate": 2)");
  for (const auto& [name, tensor] : once) CHECK(is_near(parts.at(name), tensor));
}

TEST_CASE("the prediction of memory counts what the rule keeps") {
  const auto predicted = [](const std::string& text) {
    return predict_memory(plan_fit(parse_options(text), test_settings())).memory.training();
  };
  const std::int64_t kept = 3 * (64 * 24 + 24 + 24 * 10 + 10) * std::int64_t{sizeof(float)};
  const std::int64_t more = predicted(with_rule("", R"(, "steps": 4)")) - predicted(digits_fit(R"(, "steps": 4)"));
  // Blocks of a few bytes are up to half as large again, by what the allocator has at hand.
  CHECK(more >= kept);
  CHECK(more <= kept + kept / 2);
}

TEST_CASE("a fit with a step of its own refuses the rule") {
  const std::string fit = R"({"@": "fit", "name": "test", "data": {"@": "data.digits"}, "steps": 2,
    "step": {"@": "function", "index": 0}, "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"},
    {"@": "nn.Linear", "out_features": 10}]}, "optim": {"@": "optim.SGD"},
    "stop": [{"@": "stop.divergence"}, {"@": "stop.evidence"}]})";
  CHECK_THAT(error_of([&] { plan_fit(parse_options(fit, {native({})}), test_settings()); }),
             Catch::Contains("fit.stop[2]") &&
                 Catch::Contains("stop.evidence reads the gradients of each step, found the option step"));
}

}  // namespace trainlab::stop_evidence_test
