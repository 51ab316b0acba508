#include "profile/profile.h"

#include "command.h"
#include "measured_stage.h"

namespace trainlab {

namespace {

class ProfileExecution final : public MeasuredStage {
 public:
  using MeasuredStage::MeasuredStage;

 private:
  int measure(const Options& stage, const RunSettings& settings, const std::string& note) override {
    ProfileOptions options{.say = [this](const std::string& line) { run().say(line); }};
    if (request().has("seconds")) options.seconds = request().options["seconds"].number();
    run().say("measuring " + stage.entry().name + " " + stage.string("name") + " for at most " +
              number_text(options.seconds) + " s");
    const Profile profile = profile_stage(stage, settings, options);
    const StepVerdict verdict = judge(measures_of(profile));
    if (request().has("json")) {
      Value object = profile_value(profile, verdict);
      object.set("recipe", shown_name());
      if (!note.empty()) object.set("note", note);
      send_json(object);
    } else {
      send(profile_text(profile, verdict) + (note.empty() ? "" : note + " was measured\n"));
    }
    return 0;
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
          "contention or none. No run folder is written. Of a sweep or an ensemble the first trial is measured.\n",
      .flags = {{.name = "stage", .type = text_type("NAME"), .help = "name of the stage (default: the first)"},
                {.name = "seconds",
                 .type = number_type("S", 0.1, 86400, "from 0.1 to 86400"),
                 .help = "longest time for the steps; it is less if a step is known to ±2 % earlier (default 30)"}},
  };
}

}  // namespace trainlab
