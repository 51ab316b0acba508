// The trainings of one recipe that have ended, found in folders of runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>

namespace trainlab::cli {

struct EndedTrainings {
  std::map<std::int64_t, std::filesystem::path> by_seed;  // folders of stages; an ensemble's members count from 1
  std::filesystem::path run;                              // one of the runs, for its recipe and settings
  bool is_ensemble = false;
};

// The trainings in the folders that the words name: runs of a fit, folders that hold such runs, or one run of an
// ensemble. Of the folder of a plan that has ended, the run that the end of its time has stopped does not count. Raises
// Error{usage} for anything else, for runs of different recipes or parameters, and for two runs with the same seed.
EndedTrainings ended_trainings(std::span<const std::string> words);

}  // namespace trainlab::cli
