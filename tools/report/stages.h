// The stages of a run as a report sees them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "run/folder.h"

namespace trainlab::report {

struct StageView {
  std::string name, kind;
  std::filesystem::path folder;  // or the file of a study that belongs to no run
  Value summary;                 // nil where it has none of its own
  bool is_running = false;       // the last stage of a run that a supervisor holds

  bool is_study() const { return kind == "sweep" || kind == "ensemble"; }  // its folder holds study.db
  // The status in its summary, or "running", or "unfinished"; empty for a study that belongs to no run, which has none.
  std::string status() const;
};

// The stages of a run in their order; for a folder RUN/stages/NAME only that stage. Raises Error{usage} if `given` is
// neither.
std::vector<StageView> stages_of(const std::filesystem::path& given);

// The stage that `given` means: the stage RUN/stages/NAME, or for a run the stage that the recipe returned. Raises
// Error{usage} if there is none.
StageView stage_of(const std::filesystem::path& given);

}  // namespace trainlab::report
