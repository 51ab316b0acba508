// The stages of a run as a report sees them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "run/folder.h"

namespace trainlab::report {

struct StageView {
  std::string name, kind;
  std::filesystem::path folder;
  Value summary;            // nil where it has none of its own
  bool is_running = false;  // the last stage of a run that somebody supervises

  bool is_study() const { return kind == "sweep" || kind == "ensemble"; }  // its folder holds study.db
  // As its summary says, or "running", or "unfinished".
  std::string status() const;
};

// The stages of a run in their order; of a folder RUN/stages/NAME only that one. Raises Error{usage} where `given` is
// neither.
std::vector<StageView> stages_of(const std::filesystem::path& given);

// The one that is meant: RUN/stages/NAME's own, or of a run the one that the recipe returned. Raises Error{usage} where
// there is none.
StageView stage_of(const std::filesystem::path& given);

}  // namespace trainlab::report
