// The spans of a fit: which phases a listener hears, in which order, also when something raises.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/trace.h"
#include "objects/run_handle.h"
#include "support/fit_support.h"
#include "support/overflowing_loss.h"
#include "support/stand_in_device.h"

namespace trainlab::trace_test {

using namespace test;

namespace {

// Writes down what begins, with its depth, and whether each end is that of the phase that began last.
class Notes final : public TraceListener {
 public:
  void began(Phase phase, std::string_view name) override {
    const std::string text = std::string(phase_name(phase)) + (name.empty() ? "" : " " + std::string(name));
    lines.push_back(std::string(open_.size(), ' ') + text);
    open_.push_back(text);
  }
  void ended(Phase phase, std::string_view name) noexcept override {
    const std::string text = std::string(phase_name(phase)) + (name.empty() ? "" : " " + std::string(name));
    is_balanced = is_balanced && !open_.empty() && open_.back() == text;
    if (!open_.empty()) open_.pop_back();
  }
  bool is_complete() const { return is_balanced && open_.empty(); }
  bool heard(const std::string& line) const { return std::ranges::find(lines, line) != lines.end(); }

  std::vector<std::string> lines;
  bool is_balanced = true;

 private:
  std::vector<std::string> open_;
};

}  // namespace

TEST_CASE("a listener hears the phases of a fit nested and in order") {
  const TemporaryFolder temporary;
  Notes notes;
  const auto nothing = native([](std::span<const Argument>) { return std::vector<Argument>{}; });
  const Options fit = parse_options(digits_fit(R"(, "steps": 2, "validate": "2 steps", "clip": {"norm": 1},
      "ema": {"@": "ema"}, "on": {"step": {"@": "function", "index": 0}})"),
                                    {nothing});
  {
    const Listening listening(notes);
    run_one(fit, temporary.path());
  }
  CHECK(notes.is_complete());
  const auto second = std::find(notes.lines.begin() + 1, notes.lines.end(), "step");
  REQUIRE(second != notes.lines.end());
  std::vector<std::string> first(notes.lines.begin(), second);
  std::erase_if(first, [](const std::string& line) { return line.find("layer ") != std::string::npos; });
  // Batches are moved where they are not made.
  if (!test_device().is_cpu()) CHECK(std::erase(first, " move") == 1);
  CHECK(first == std::vector<std::string>{"step", " fetch", " forward", " loss", " backward", " gradients",
                                          " optimizer", " average", " callback step"});
  CHECK(notes.heard("  layer fit.model"));
  CHECK(notes.heard("   layer fit.model[2].Linear"));
  CHECK(notes.heard("validate val"));
  CHECK(notes.heard(" metrics"));
  CHECK(notes.heard(" loss"));
  CHECK(notes.heard("commit"));
  CHECK(notes.heard("validate test"));
}

TEST_CASE("functions of the recipe between steps have spans, and so have the files that they ask for") {
  const TemporaryFolder temporary;
  Notes notes;
  const auto saves = native([](std::span<const Argument> arguments) {
    object_at<RunHandle>(arguments, 0).save("weights");
    return std::vector<Argument>{};
  });
  const auto nothing = native([](std::span<const Argument>) { return std::vector<Argument>{}; });
  const Options fit = parse_options(digits_fit(R"(, "steps": 2, "validate": "1 steps", "checkpoint": "1 steps",
      "on": {"step": {"@": "function", "index": 0}, "checkpoint": {"@": "function", "index": 1}},
      "stop": [{"@": "function", "index": 1}])"),
                                    {saves, nothing});
  {
    const Listening listening(notes);
    run_one(fit, temporary.path());
  }
  CHECK(notes.is_complete());
  CHECK(std::ranges::count(notes.lines, " callback run:save") == 2);
  CHECK(std::ranges::count(notes.lines, "callback stop") == 2);
  CHECK(std::ranges::count(notes.lines, " callback checkpoint") == std::ranges::count(notes.lines, "commit"));
}

TEST_CASE("evaluations that an optimizer asks for are inside its phase") {
  const TemporaryFolder temporary;
  Notes notes;
  std::string sam = digits_fit(R"(, "steps": 1, "accumulate": 2)");
  const std::string adamw = R"({"@": "optim.AdamW", "lr": 0.005})";
  sam.replace(sam.find(adamw), adamw.size(), R"({"@": "optim.SAM", "base": {"@": "optim.SGD", "lr": 0.1}})");
  const Listening listening(notes);
  run_one(parse_options(sam), temporary.path());
  CHECK(notes.is_complete());
  CHECK(std::ranges::count(notes.lines, " backward") == 2);
  CHECK(std::ranges::count(notes.lines, "  backward") == 2);
  CHECK(std::ranges::count(notes.lines, "  gradients") == 1);
}

TEST_CASE("phases that an error leaves are ended") {
  const TemporaryFolder temporary;
  Notes notes;
  const auto fails = native([](std::span<const Argument>) -> std::vector<Argument> { throw recipe_error("no"); });
  const Listening listening(notes);
  CHECK_THROWS_AS(
      run_one(parse_options(digits_fit(R"(, "steps": 2, "on": {"step": {"@": "function", "index": 0}})"), {fails}),
              temporary.path()),
      Error);
  CHECK(notes.is_complete());
  CHECK(notes.lines.back() == " callback step");
}

}  // namespace trainlab::trace_test
