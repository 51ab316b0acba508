#include "measured_stage.h"

#include "sweep/sweep.h"

namespace trainlab {

namespace {

std::string stage_name(const Spec& stage) {
  const Value& name = stage.value["name"];
  return name.is_string() ? name.string() : stage.value["@"].string();
}

}  // namespace

StageResult MeasuredStage::run_stage(const std::shared_ptr<const Spec>& stage) {
  const Value& asked = request().options["stage"];
  const std::string name = stage_name(*stage);
  if (!asked.is_nil() && asked != Value(name)) {
    throw usage_error("--stage " + asked.string() + ": the recipe runs stage \"" + name +
                      "\" first, and the rest of the recipe may need its result")
        .hint("without --stage the first stage is measured");
  }
  measure_stage(*stage, false);
  throw ExecutionEnds();
}

int MeasuredStage::end(const Recipe::Outcome& outcome) {
  const Value& asked = request().options["stage"];
  if (outcome.stage && !code_) {
    const std::string name = stage_name(*outcome.stage);
    if (!asked.is_nil() && asked != Value(name)) {
      throw usage_error("--stage " + asked.string() + ": the recipe has no such stage, only \"" + name + "\"");
    }
    measure_stage(*outcome.stage, true);
  }
  if (code_) return *code_;
  throw usage_error(shown_name() + (outcome.ended
                                        ? ": the recipe comes to a lab.study with a file before its first stage"
                                        : ": the recipe returns no stage"))
      .hint("a stage is measured: lab.fit, lab.task, lab.sweep or lab.ensemble");
}

void MeasuredStage::measure_stage(const Spec& given, bool returned) {
  const std::shared_ptr<const Spec> spec = with_set(given, returned);
  const Options stage(registry(), spec, "");
  try {
    const RunSettings settings = run().begin_trial_of(stage);
    const std::string& kind = stage.entry().name;
    if (kind == "fit" || kind == "task") {
      code_ = measure({.stage = stage, .spec = spec, .note = "", .whole = stage, .is_last = returned}, settings);
    } else {
      code_ = measure({.stage = first_trial(stage, settings),
                       .spec = nullptr,
                       .note = "the first trial of " + kind + " " + stage_name(given),
                       .whole = stage,
                       .is_last = returned},
                      settings);
    }
  } catch (const Error& error) {
    throw with_origin(error, request().texts("set"), stage_name(given), returned);
  }
}

}  // namespace trainlab
