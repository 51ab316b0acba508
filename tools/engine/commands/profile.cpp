#include <algorithm>
#include <filesystem>

#include "command.h"
#include "core/clock.h"
#include "core/files.h"
#include "core/trace_file.h"
#include "core/words.h"
#include "measured_stage.h"
#include "profile/beside.h"
#include "profile/details.h"
#include "profile/remedies.h"
#include "profile/timeline.h"
#include "report/texts.h"
#include "run/applied.h"
#include "run/run.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

constexpr double precision = 0.02;   // wanted half-width of a step's interval, relative to its median
constexpr double least_quality = 1;  // seconds of --quality
// Parts of the profile's time: for steps, and for slow steps of which there would be too few.
constexpr double steps_share = 0.2, slow_steps_share = 0.6;

// The remedies that are worth having together, in the form that `trainlab run --apply` reads.
AppliedChanges changes_of(const JoinedRemedies& joined) {
  AppliedChanges changes;
  for (const std::string& set : joined.set) {
    if (const std::optional<int> threads = threads_of(set)) {
      changes.threads = threads;
    } else {
      changes.set.push_back(set);
    }
  }
  return changes;
}

// Records steps for about a tenth of the profile's seconds.
Timeline timeline_of(const Profile& profile, const Options& stage, const RunSettings& settings,
                     const ProfileOptions& options) {
  const double mean = profile.steps.mean;
  const double steps = mean > 0 ? options.seconds / 10 / mean : 0;
  const TimelineLimits limits{.steps = static_cast<std::int64_t>(std::clamp(steps, 3.0, 10000.0))};
  return with_torch_errors([&] {
    if (profile.kind != "fit") return record_task_timeline(stage, settings, limits);
    FitPlan plan = plan_fit(stage, settings, profile.shared_data());
    return record_timeline(plan, limits);
  });
}

// Measures a stage beside another stage.
class BesideExecution : public MeasuredStage {
 public:
  using MeasuredStage::MeasuredStage;

 protected:
  // The stage of the second side: with the options of --with.
  Options second_of(const WhatToMeasure& what, const RunSettings& settings) const {
    const std::vector<std::string> more = request().texts("with");
    return more.empty() ? what.stage() : with_more(what, settings, more, "--with");
  }

  std::string note_of_second(const WhatToMeasure& what) const {
    const std::string more = joined(request().texts("with"));
    return what.note() + (what.note().empty() || more.empty() ? "" : ", ") + (more.empty() ? "" : "with " + more);
  }

  int tell_beside(const StageBeside& a, const StageBeside& b) {
    const ProfileOptions options = profile_options(precision);
    run().say("measuring both in turns for about " + number_text(options.seconds) +
              " s, and validations, checkpoints and layers for as long again");
    const StagesBeside stages = measure_beside(a, b, options);
    if (request().has("json")) {
      Value object = beside_value(stages);
      if (stop_requested()) object.set("status", "interrupted");
      send_json(object);
    } else {
      send(beside_text(stages));
    }
    return stop_requested() ? 130 : 0;
  }
};

// Executes the second recipe of a command line while the first recipe waits at its stage.
class SecondExecution final : public BesideExecution {
 public:
  SecondExecution(const EngineStart& start, const StageBeside& first) : BesideExecution(start), first_(first) {}

 private:
  int measure(const WhatToMeasure& what, const RunSettings& settings) override {
    const Options stage = second_of(what, settings);
    return tell_beside(
        first_,
        {.stage = stage, .settings = settings, .recipe = shown_name(), .note = note_of_second(what), .ran = [this] {
           mute();
         }});
  }

  const StageBeside& first_;
};

class ProfileExecution final : public BesideExecution {
 public:
  explicit ProfileExecution(const EngineStart& start) : BesideExecution(start) {
    if (compares()) {
      for (const char* flag : {"html", "trace", "apply", "by", "quality"}) {
        if (request().has(flag)) throw usage_error("--" + std::string(flag) + " belongs to the profile of one recipe");
      }
    }
    check_page();
    if (request().has("trace")) check_trace(*request().path("trace"));
    check_apply();
    check_outputs_differ();
    if (request().has("quality") && request().options["quality"].number() < least_quality) {
      throw usage_error("--quality: expected at least 1 s, of which a training gets a tenth");
    }
  }

 private:
  bool compares() const { return !request().second.empty() || request().has("with"); }

  int measure(const WhatToMeasure& what, const RunSettings& settings) override {
    return compares() ? measure_both(what, settings) : measure_one(what, settings);
  }

  int measure_both(const WhatToMeasure& what, const RunSettings& settings) {
    const StageBeside first{
        .stage = what.stage(), .settings = settings, .recipe = shown_name(), .note = what.note(), .ran = [this] {
          mute();
        }};
    if (request().second.empty()) {
      const Options changed = second_of(what, settings);
      return tell_beside(
          first, {.stage = changed, .settings = settings, .recipe = shown_name(), .note = note_of_second(what)});
    }
    EngineStart second{.request = request(), .channel = start().channel};
    second.request.second = request().recipe;
    second.request.recipe = request().second;
    second.request.recipe_folder = request().second.parent_path();
    second.request.begun = steady_seconds();  // a budget of the second recipe pays for its own stages
    return SecondExecution(second, first).execute();
  }

  int measure_one(const WhatToMeasure& what, const RunSettings& settings) {
    if (request().has("quality")) check_quality(what, settings);
    ProfileOptions options = profile_options(precision);
    options.steps_share = steps_share;
    options.slow_steps_share = slow_steps_share;
    options.by_length = !request().has("seconds");
    run().say("measuring " +
              (what.note().empty() ? what.stage().entry().name + " " + what.stage().string("name") : what.note()) +
              " for at most " + number_text(options.seconds) + " s, remedies included");
    Findings found{.profile = profile_of(what, settings, options)};
    found.measures = measures_of(found.profile);
    if (found.profile.no_room.empty()) {
      options.seconds = found.profile.allowed;
    } else {
      found.profile.allowed = options.seconds;
    }
    try {
      look_closer(what, settings, options, found);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::interrupted) throw;
      found.missing.push_back("the rest: " + error.message());
    }
    found.is_interrupted = stop_requested();  // also where a part of the details has ended for it
    found.details.missing.insert(found.details.missing.end(), found.missing.begin(), found.missing.end());
    return tell(what, found);
  }

  static Profile profile_of(const WhatToMeasure& what, const RunSettings& settings, const ProfileOptions& options) {
    try {
      return profile_stage(what.stage(), settings, options);
    } catch (const Error& error) {
      if (std::optional<Profile> none = profile_without_room(what.stage(), error)) return std::move(*none);
      throw;
    }
  }

  // Holds all that is known of a stage. Its steps are measured first; the parts that follow may be interrupted.
  struct Findings {
    Profile profile;
    Measures measures = {};
    std::optional<Timeline> timeline = {};
    ProfileDetails details = {};
    TriedRemedies remedies = {};
    std::vector<std::string> missing = {};  // ProfileDetails::missing, of the other parts
    bool has_remedies = false;              // whether remedies were tried until an end
    bool is_interrupted = false;
  };

  void look_closer(const WhatToMeasure& what, const RunSettings& settings, const ProfileOptions& options,
                   Findings& found) {
    const Options& stage = what.stage();
    // A part that goes wrong is missing with the reason, because what was measured before holds all the same.
    const auto part = [&](const std::string& name, const auto& work) {
      try {
        work();
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::interrupted) throw;
        found.missing.push_back(name + ": " + error.headline());
      }
    };
    if (found.profile.no_room.empty()) {
      if (request().has("trace") || request().has("html"))
        part("timeline", [&] { found.timeline = timeline_of(found.profile, stage, settings, options); });
      found.details = measure_details(found.profile, stage, settings, options);
      found.measures = measures_of(found.profile, found.details);
    }
    const StepVerdict verdict = judge(found.measures);
    const std::string text = profile_text(found.profile, found.measures);
    const bool has_verdict = verdict.bottleneck != Bottleneck::unknown;
    run().say(text.substr(0, text.find('\n')) + (has_verdict ? "; trying remedies" : ""));
    const WithSet with_set = [&](const std::vector<std::string>& set) { return with_more(what, settings, set); };
    part("remedies", [&] {
      try_remedies(found.remedies, found.profile, verdict, stage, settings, with_set, options,
                   {.path = what.path(),
                    .together = what.trainings.together,
                    .workers = what.trainings.workers,
                    .validations_decide = what.trainings.validations_decide,
                    .is_first = what.is_first,
                    .predicted = found.details.predicted ? &*found.details.predicted : nullptr,
                    .sample_seconds = found.details.pipeline ? found.details.pipeline->sample_seconds() : std::nullopt,
                    .loader_needs = found.details.pipeline ? found.details.pipeline->needs() : LoaderNeeds()});
      found.has_remedies = true;
    });
    if (request().has("quality") && found.profile.no_room.empty()) {
      part("quality", [&] {
        judge_remedies(found.remedies, found.profile, stage, settings, with_set, request().options["quality"].number(),
                       options.say);
      });
    }
  }

  // Writes and sends the findings, and returns the exit code. A file that cannot be written leaves the others and the
  // result as they are.
  int tell(const WhatToMeasure& what, Findings& found) {
    std::vector<std::string> failures;
    const std::string interrupted = found.is_interrupted ? "the profile was interrupted" : "";
    const auto write = [&](const std::string& flag, const std::string& why_not, const auto& work) {
      if (!request().has(flag)) return;
      const std::optional<std::string> failure = output_failure("--" + flag, [&] {
        if (!why_not.empty()) throw run_error("not written, because " + (interrupted.empty() ? why_not : interrupted));
        work(*request().path(flag));
      });
      if (!failure) return;
      failures.push_back(*failure);
      found.details.missing.push_back(*failure);
    };
    write("trace", found.timeline ? "" : "no step was recorded",
          [&](const std::filesystem::path& path) { found.timeline->write(path); });
    const bool has_verdict = judge(found.measures).bottleneck != Bottleneck::unknown;
    const std::string no_changes = !found.has_remedies          ? "the remedies were not tried"
                                   : !has_verdict               ? "without a verdict no change is tried"
                                   : found.remedies.had_no_time ? "no time was left for the remedies"
                                                                : "";
    write("apply", no_changes, [&](const std::filesystem::path& path) {
      AppliedChanges changes = changes_of(found.remedies.joined);
      changes.with = tried_with(request(), run().source_hashes());
      changes.stage = what.whole.string("name");
      write_changes(path, changes);
      if (!changes.is_none()) return;
      const std::vector<Remedy>& all = found.remedies.all;
      const bool none_tried = !all.empty() && std::ranges::none_of(all, &Remedy::is_tried);
      run().say("--apply " + path.string() + ": no change " + (none_tried ? "could be tried" : "is worth making") +
                ", and the file has none");
    });
    Value object = profile_value(found.profile, found.measures);
    if (found.is_interrupted) object.set("status", "interrupted");
    object.set("recipe", shown_name());
    if (!what.note().empty()) {
      object.set("note", what.note());
      object.set("together", what.trainings.together);
    }
    for (const Value& more : {details_value(found.profile, found.details), remedies_value(found.remedies)})
      for (const auto& [name, value] : more.map()) object.set(name, value);
    write("html", "", [&](const std::filesystem::path& path) {
      Value page = object;
      if (found.timeline) page.set("timeline", found.timeline->flame());
      write_atomic(path, report::profile_page(page));
    });
    object.set("missing", Value::List(found.details.missing.begin(), found.details.missing.end()));
    if (request().has("json")) {
      send_json(object);
    } else {
      send(profile_text(found.profile, found.measures) + details_text(found.profile, found.details, view()) +
           note_text(what) + remedies_text(found.remedies));
    }
    const int code = end_with(failures);
    return found.is_interrupted ? 130 : code;
  }

  // Which training of a stage was measured.
  static std::string note_text(const WhatToMeasure& what) {
    if (what.note().empty()) return "";
    std::string text = "\n" + what.note() + " was measured";
    if (what.trainings.together > 1) {
      text += " by itself; the " + what.whole.entry().name + " does " + std::to_string(what.trainings.together) +
              " trainings together";
    }
    return text + "\n";
  }

  // Raises Error{usage}, before anything is measured, where remedies cannot be judged.
  static void check_quality(const WhatToMeasure& what, const RunSettings& settings) {
    if (what.stage().entry().name != "fit") {
      throw usage_error("--quality: expected a fit, found the task \"" + what.stage().string("name") + "\"")
          .hint("a task's loop is code, and has no options that could be changed");
    }
    if (!what.note().empty()) {
      throw usage_error("--quality: expected a fit that the recipe names, found " + what.note())
          .hint("profile the fit in a recipe of its own: what a change does to a search is not known from one trial");
    }
    try {
      with_torch_errors([&] { quality_metric(plan_fit(what.stage(), settings)); });
    } catch (const Error& error) {
      if (!error.lacks_memory()) throw;  // which is the verdict
    }
  }

  DetailView view() const {
    const Value& by = request().options["by"];
    if (by.is_nil()) return DetailView::heaviest;
    return by == Value("layer") ? DetailView::layers : DetailView::operators;
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
          "contention, capacity or none. No run folder is written. Of a sweep or an ensemble the first trial is "
          "measured, "
          "and\n"
          "the text says which one. Changes that suit the verdict are tried, and their gain is shown.\n"
          "With a second recipe, or with --with, two stages are measured in turns, and the text says how much longer "
          "a\n"
          "step of the second takes and where the difference lies. Parameters and --set are those of both.\n"
          "With --attach, the next steps of a run that trains now are measured, in the process that trains.\n",
      .flags = {stage_flag(),
                seconds_flag("the whole profile with its remedies", ", and less for a stage that\nis short itself"),
                {.name = "by",
                 .type = choice_type("PART", {"layer", "operator"}),
                 .help =
                     "shows all rows of the table of layers, or all operators, together and by row (default: the 8\n"
                     "longest rows)"},
                {.name = "html",
                 .type = file_type("PAGE"),
                 .help = "also writes a page with charts that needs nothing but a browser"},
                {.name = "trace",
                 .type = file_type("FILE"),
                 .help = "writes some steps with all layers, operators and threads, for ui.perfetto.dev"},
                {.name = "apply",
                 .type = file_type("FILE"),
                 .help = "writes the changes that are faster and keep the result, for `trainlab run --apply FILE`"},
                {.name = "quality",
                 .type = time_type(),
                 .help = "trains with and without each change that changes the result, for this time for each change,\n"
                         "and says what the change does to the validation part: \"60 s\""},
                {.name = "with",
                 .type = text_type("PATH=VALUE"),
                 .help = "compares the stage with itself, or with the second recipe's, under this option",
                 .repeats = true}},
      .takes_second = true,
  };
}

}  // namespace trainlab
