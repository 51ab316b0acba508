#include <algorithm>

#include "command.h"
#include "core/files.h"
#include "measured_stage.h"
#include "profile/details.h"
#include "profile/remedies.h"
#include "profile/timeline.h"
#include "run/applied.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

// The remedies that are faster and keep the result, as `trainlab run --apply` takes them.
AppliedChanges winners(const std::vector<Remedy>& remedies) {
  constexpr std::string_view threads = "--threads ";
  AppliedChanges changes;
  for (const Remedy& one : remedies) {
    if (!one.wins() || !one.keeps_result()) continue;
    if (one.set.starts_with(threads)) {
      changes.threads = std::stoi(one.set.substr(threads.size()));
    } else {
      changes.set.push_back(one.set);
    }
  }
  return changes;
}

// Records steps for about a tenth of the profile's seconds.
void write_trace(const std::filesystem::path& path, const Profile& profile, const Options& stage,
                 const RunSettings& settings, const ProfileOptions& options) {
  const double mean = profile.steps.mean;
  const double steps = mean > 0 ? options.seconds / 10 / mean : 0;
  FitPlan plan = with_torch_errors([&] { return plan_fit(stage, settings); });
  record_timeline(plan, {.steps = static_cast<std::int64_t>(std::clamp(steps, 3.0, 10000.0))}).write(path);
}

class ProfileExecution final : public MeasuredStage {
 public:
  using MeasuredStage::MeasuredStage;

 private:
  int measure(const WhatToMeasure& what, const RunSettings& settings) override {
    if (request().has("apply") && !what.spec) {
      throw usage_error("--apply: expected a fit that the recipe names, found " + what.note)
          .hint("options of its fits come from the function `build`");
    }
    if (request().has("trace") && what.stage.entry().name != "fit") {
      throw usage_error("--trace: expected a fit, found the task \"" + what.stage.string("name") + "\"")
          .hint("a task's loop is code, of which no steps can be run apart");
    }
    ProfileOptions options{.say = [this](const std::string& line) { run().say(line); }};
    if (request().has("seconds")) options.seconds = request().options["seconds"].number();
    const Options& stage = what.stage;
    run().say("measuring " + stage.entry().name + " " + stage.string("name") + " for at most " +
              number_text(options.seconds) + " s, and remedies for about as long again");
    const Profile profile = profile_stage(stage, settings, options);
    if (request().has("trace")) write_trace(*request().path("trace"), profile, stage, settings, options);
    const FitDetails details = measure_details(profile, stage, settings, options);
    const StepVerdict verdict = judge(measures_of(profile, details));
    const std::string text = profile_text(profile, verdict);
    run().say(text.substr(0, text.find('\n')) + "; trying remedies");
    WithSet with_set;
    if (what.spec) with_set = [&](const std::string& set) { return changed(*what.spec, set); };
    const std::vector<Remedy> remedies = try_remedies(profile, verdict, stage, settings, with_set, options);
    if (request().has("apply")) {
      AppliedChanges changes = winners(remedies);
      changes.recipe = hash_file(request().recipe);
      changes.stage = profile.stage;
      write_changes(*request().path("apply"), changes);
    }
    if (request().has("json")) {
      Value object = profile_value(profile, verdict);
      object.set("recipe", shown_name());
      if (!what.note.empty()) object.set("note", what.note);
      const Value more = details_value(profile, details);
      for (const auto& [name, value] : more.map()) object.set(name, value);
      object.set("remedies", remedies_value(remedies));
      send_json(object);
    } else {
      send(text + details_text(profile, details, view()) +
           (what.note.empty() ? "" : what.note + " was measured\n") + remedies_text(remedies));
    }
    return 0;
  }

  DetailView view() const {
    const Value& by = request().options["by"];
    if (by.is_nil()) return DetailView::heaviest;
    return by == Value("layer") ? DetailView::layers : DetailView::operators;
  }

  // The stage with one more --set.
  Options changed(const Spec& stage, const std::string& set) const {
    auto spec = std::make_shared<Spec>(stage);
    spec->value = SetOptions({set}).apply(registry(), std::move(spec->value), true);
    return Options(registry(), std::move(spec), "");
  }
};

}  // namespace

Command profile_command() {
  return {
      .name = "profile",
      .execute = [](const EngineStart& start) { return ProfileExecution(start).execute(); },
      .line = "say what a training step waits for",
      .text =
          "Runs a stage for some seconds and says where the time of its steps goes, in one word first: input, host,\n"
          "compute, bandwidth, transfer, synchronisation, launch, optimizer, evaluation, checkpoint, communication,\n"
          "contention or none. No run folder is written. Of a sweep or an ensemble the first trial is measured. "
          "Changes\n"
          "that suit the verdict are tried, and their gain is shown.\n",
      .flags = {{.name = "stage", .type = text_type("NAME"), .help = "name of the stage (default: the first)"},
                {.name = "seconds",
                 .type = number_type("S", 0.1, 86400, "from 0.1 to 86400"),
                 .help = "longest time for the steps; it is less if a step is known to ±2 % earlier (default 30)"},
                {.name = "by",
                 .type = choice_type("PART", {"layer", "operator"}),
                 .help = "shows all rows of the table of layers, or all operators (default: the 8 longest rows)"},
                {.name = "trace",
                 .type = file_type("FILE"),
                 .help = "writes some steps with all layers, operators and threads, for ui.perfetto.dev"},
                {.name = "apply",
                 .type = file_type("FILE"),
                 .help = "writes the changes that are faster and keep the result, for `trainlab run --apply FILE`"}},
  };
}

}  // namespace trainlab
