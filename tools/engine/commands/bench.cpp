#include "command.h"
#include "core/duration.h"
#include "core/files.h"
#include "measured_stage.h"
#include "profile/speed.h"

namespace trainlab {

namespace {

class BenchExecution final : public MeasuredStage {
 public:
  explicit BenchExecution(const EngineStart& start) : MeasuredStage(start), tolerance_(tolerance()) {
    if (request().has("against")) before_ = read_speed(*request().path("against"));
  }

 private:
  // The tolerance of --tolerance. To be read before anything is measured, since it may be wrong.
  double tolerance() const {
    const std::string& text = request().options["tolerance"].string();
    try {
      const Duration read = parse_duration(text);
      if (read.unit == Unit::percent && read.amount < 100) return read.amount / 100;
    } catch (const Error&) {
      // Any text that is no percentage gets the message below.
    }
    throw usage_error("--tolerance: expected a percentage below 100 %, found \"" + text + "\"").hint("--tolerance 3%");
  }

  int measure(const WhatToMeasure& what, const RunSettings& settings) override {
    Value speed = speed_value(profile_stage(what.stage(), settings, profile_options(0.01)), what.stage(), settings);
    speed.set("recipe", shown_name());
    if (!what.note().empty()) speed.set("note", what.note());
    std::string text = speed_text(speed);
    int code = 0;
    if (!before_.is_nil()) {
      const Comparison comparison = compare_speed(speed, before_, tolerance_, request().options["against"].string());
      speed.set("against", comparison.value());
      text += comparison.text;
      code = comparison.is_slower ? 1 : 0;
      if (comparison.is_slower) run().say_damage("stage " + what.stage().string("name") + " is slower than it was");
    }
    if (request().has("json")) {
      send_json(speed);
    } else {
      send(text);
    }
    return code;
  }

  double tolerance_;
  Value before_;
};

}  // namespace

Command bench_command() {
  return {
      .name = "bench",
      .execute = [](const EngineStart& start) { return BenchExecution(start).execute(); },
      .line = "measure the speed of a recipe, and compare it with an earlier one",
      .text =
          "Prints samples a second with a 95 % interval, without validations and checkpoints. With --against the exit\n"
          "code is 1 if the stage is slower than in FILE, which `trainlab bench --json` has written.\n",
      .flags = {stage_flag(),
                seconds_flag("the steps; it is less if a step is known to ±1 % earlier"),
                {.name = "against", .type = file_type("FILE"), .help = "the speed to compare with"},
                {.name = "tolerance",
                 .type = text_type("P%"),
                 .help = "how much slower the stage may be",
                 .otherwise = "3%",
                 .needs = "against"}},
  };
}

}  // namespace trainlab
