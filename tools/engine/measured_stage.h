// Commands that measure one stage of a recipe: `profile`, `bench`, `plan`, `find`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "execution.h"
#include "profile/profile.h"
#include "run/flag.h"

namespace trainlab {

struct WhatToMeasure {
  Options whole;             // the stage as the recipe has it
  StageTrainings trainings;  // of which it is made; a fit or a task is its own one training, which has no name
  bool is_last = false;      // the recipe returns the stage
  bool is_first = true;      // of the stages that the recipe runs

  // What is measured: a fit or a task.
  const Options& stage() const { return trainings.first; }
  // What stage() is where it is a training of `whole`; else empty.
  const std::string& note() const { return trainings.name; }
  // In front of the options of stage() in texts of --set: "build.", or empty.
  std::string path() const { return trainings.option.empty() ? "" : trainings.option + "."; }
};

// Executes the recipe up to the stage of --stage, or else up to its first stage, measures this stage, and ends. The
// stages before it run to their ends, in a run that is not kept.
class MeasuredStage : public Execution {
 public:
  explicit MeasuredStage(const EngineStart& start) : Execution(start, Purpose::check) {}

 protected:
  // Sends the result and returns the exit code.
  virtual int measure(const WhatToMeasure& what, const RunSettings& settings) = 0;

  // For the seconds of --seconds, with the recipe's lines told as a run tells them.
  ProfileOptions profile_options(double precision);
  // The measured stage where the whole stage has more options, texts as after --set that follow `flag`. Raises the
  // errors of the stage.
  Options with_more(const WhatToMeasure& what, const RunSettings& settings, const std::vector<std::string>& texts,
                    const std::string& flag = "--set") const;

  // Error{usage} for a stage that searches by trainings of a fit and keeps none of them.
  static void require_kept(const WhatToMeasure& what);
  // Error{usage} for a task, with the hint `why`.
  static void require_fit(const WhatToMeasure& what, const std::string& why);

  // Asked before anything is measured: Error{usage} where the file of --html, if that is given, cannot be written, and
  // where it would replace another file than a page.
  void check_page() const;
  // The same of --apply, whose file may replace none but a former file of changes.
  void check_apply() const;
  // Error{usage} where two of --html, --trace and --apply name one file, which would keep the last of them alone.
  void check_outputs_differ() const;
  // Before the result is sent: writes the page of --html, where that is given. A failure is returned for end_with().
  std::vector<std::string> page_failures(const std::function<std::string()>& page) const;
  // After the result was sent: says which outputs could not be written, and returns the exit code.
  int end_with(const std::vector<std::string>& failures);

 private:
  StageResult run_stage(const std::shared_ptr<const Spec>& stage) final;
  int end(const Recipe::Outcome& outcome) final;
  // Whether this stage is the one to measure, by its name.
  bool is_meant(const std::string& name) const;
  // Notes a stage that is not the one to measure; false where it is noted already.
  bool pass(const std::string& name);
  void measure_stage(const Spec& given, bool returned);
  Error no_such_stage() const;

  std::vector<std::string> passed_;  // the names of other stages that the recipe has come to
  std::optional<int> code_;          // once the stage is measured
};

// --seconds, the longest time for `what`. `otherwise` says how the seconds without this flag may differ from
// ProfileOptions::seconds.
Flag seconds_flag(const std::string& what, const std::string& otherwise = "");

}  // namespace trainlab
