// Commands that measure one stage of a recipe: `profile`.
#pragma once

#include <optional>
#include <string>

#include "execution.h"

namespace trainlab {

// Executes the recipe up to the stage of --stage, or up to its first stage, measures that stage, and ends.
class MeasuredStage : public Execution {
 public:
  using Execution::Execution;

 protected:
  // `stage`: a fit or a task, which of a sweep or an ensemble is that of the first trial; `note` says so, and is empty
  // otherwise. Sends the result and returns the exit code.
  virtual int measure(const Options& stage, const RunSettings& settings, const std::string& note) = 0;

 private:
  StageResult run_stage(const std::shared_ptr<const Spec>& stage) final;
  int end(const Recipe::Outcome& outcome) final;
  void measure_stage(const Spec& given, bool returned);

  std::optional<int> code_;  // once the stage is measured
};

}  // namespace trainlab
