#include "measured_stage.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/files.h"
#include "core/words.h"
#include "report/page.h"
#include "run/applied.h"

namespace trainlab {

namespace {

StageTrainings trainings_of(const Options& stage, const RunSettings& settings) {
  const auto& kind = stage.registry().implementation<StageKind>(stage.entry());
  return kind.trainings ? kind.trainings(stage, settings) : StageTrainings{.first = stage, .waves = {{}}};
}

}  // namespace

Flag seconds_flag(const std::string& what, const std::string& otherwise) {
  return {.name = "seconds",
          .type = number_type("S", 0.1, 86400, "from 0.1 to 86400"),
          .help = "longest time for " + what + " (default " + number_text(ProfileOptions().seconds) + otherwise + ")"};
}

ProfileOptions MeasuredStage::profile_options(double precision) {
  ProfileOptions options{.precision = precision,
                         .say = [this](const std::string& line) { run().say(line); },
                         .ran = [this] { mute(); },
                         .collect = [this] { return collect_garbage(); }};
  if (request().has("seconds")) options.seconds = request().options["seconds"].number();
  return options;
}

Options MeasuredStage::with_more(const WhatToMeasure& what, const RunSettings& settings,
                                 const std::vector<std::string>& texts, const std::string& flag) const {
  SetOptions changes(texts, flag);
  const Options whole(registry(), std::make_shared<const Spec>(changes.apply(registry(), what.whole.spec(), true)), "");
  changes.check_all_used();
  return trainings_of(whole, settings).first;
}

void MeasuredStage::require_kept(const WhatToMeasure& what) {
  const auto& kind = what.whole.registry().implementation<StageKind>(what.whole.entry());
  if (!kind.trainings || kind.is_shared) return;
  throw usage_error("expected a stage that trains what it keeps, found lab." + what.whole.entry().name + " \"" +
                    what.whole.string("name") + "\"")
      .hint("a search takes as many trainings as it needs; --stage NAME plans a stage that follows it");
}

void MeasuredStage::require_fit(const WhatToMeasure& what, const std::string& why) {
  if (what.stage().entry().name == "fit") return;
  throw usage_error("expected a lab.fit as the stage of the recipe, found " +
                    (what.note().empty() ? "lab.task" : what.note() + ", a lab.task"))
      .hint(why);
}

void MeasuredStage::check_page() const {
  if (request().has("html")) report::check_page(*request().path("html"));
}

void MeasuredStage::check_apply() const {
  if (request().has("apply")) check_changes(*request().path("apply"));
}

void MeasuredStage::check_outputs_differ() const {
  std::map<std::filesystem::path, std::string> flags;
  for (const char* flag : {"html", "trace", "apply"}) {
    if (!request().has(flag)) continue;
    const std::filesystem::path file = std::filesystem::weakly_canonical(*request().path(flag));
    const auto [other, is_new] = flags.emplace(file, flag);
    if (!is_new)
      throw usage_error("--" + other->second + " and --" + flag + " name one file, " + file.string() +
                        ", which cannot hold both");
  }
}

std::vector<std::string> MeasuredStage::page_failures(const std::function<std::string()>& page) const {
  if (!request().has("html")) return {};
  const std::optional<std::string> failure = report::page_failure(*request().path("html"), page);
  return failure ? std::vector{*failure} : std::vector<std::string>();
}

int MeasuredStage::end_with(const std::vector<std::string>& failures) {
  for (const std::string& failure : failures) run().say_damage(failure);
  return failures.empty() ? 0 : static_cast<int>(ErrorKind::run);
}

StageResult MeasuredStage::run_stage(const std::shared_ptr<const Spec>& stage) {
  const std::string name = stage_key(registry(), stage->value);
  if (is_meant(name)) {
    measure_stage(*stage, false);
    throw ExecutionEnds();
  }
  const bool is_first = passed_.empty();
  if (pass(name)) {
    run().say("stage " + name + " runs " +
              (is_first ? "first and whole, because stage " + request().options["stage"].string() +
                              " may need its result; a stage that trains in a run can be measured there: trainlab "
                              "profile --attach RUN"
                        : "next"));
  }
  return run_to_end(with_set(*stage, false), false);
}

bool MeasuredStage::is_meant(const std::string& name) const {
  const Value& asked = request().options["stage"];
  return asked.is_nil() || asked == Value(name);
}

bool MeasuredStage::pass(const std::string& name) {
  if (std::ranges::count(passed_, name) > 0) return false;
  passed_.push_back(name);
  return true;
}

Error MeasuredStage::no_such_stage() const {
  const std::string& asked = request().options["stage"].string();
  const std::string close = Registry::closest(asked, passed_);
  return usage_error("--stage " + asked + ": " + shown_name() + " has no such stage, only \"" +
                     joined(passed_, "\", \"") + "\"")
      .hint(close.empty() ? "" : "did you mean " + close + "?");
}

int MeasuredStage::end(const Recipe::Outcome& outcome) {
  if (outcome.stage && !code_) {
    const std::string name = stage_key(registry(), outcome.stage->value);
    if (is_meant(name)) {
      measure_stage(*outcome.stage, true);
    } else {
      pass(name);
    }
  }
  if (code_) return *code_;
  if (!passed_.empty() && !outcome.ended) throw no_such_stage();
  throw(outcome.ended
            ? usage_error(shown_name() + ": the recipe comes to a lab.study with a file before " +
                          (passed_.empty() ? "its first stage" : "stage " + request().options["stage"].string()))
            : no_stage("measured"))
      .hint("a stage is measured: lab.fit, lab.task, lab.sweep or lab.ensemble");
}

void MeasuredStage::measure_stage(const Spec& given, bool returned) {
  const std::shared_ptr<const Spec> spec = with_set(given, returned);
  const Options stage(registry(), spec, "");
  try {
    run().end_help();
    const RunSettings settings = run().begin_trial_of(stage);
    const WhatToMeasure what{
        .whole = stage, .trainings = trainings_of(stage, settings), .is_last = returned, .is_first = passed_.empty()};
    code_ = measure(what, settings);
  } catch (const Error& error) {
    throw with_origin(error, request().texts("set"), stage.string("name"), returned);
  }
}

}  // namespace trainlab
