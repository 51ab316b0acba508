// From what is known of an engine that has ended to what the user is told.
#pragma once

#include <signal.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "run/last_note.h"
#include "run/supervisor.h"

namespace trainlab {

struct Ending {
  siginfo_t status{};             // as waitid gives it
  std::vector<int> stop_signals;  // that the supervisor took, in order: the second one killed
  bool is_late = false;           // the time of grace after the first had passed, and the supervisor killed
  bool is_out_of_time = false;    // the first of them was the supervisor's own, at the end of the engine's time
  std::optional<Error> error;     // as the engine sent it
  std::optional<Error> silent;    // as the engine sent it before it ended itself in the middle of its work
  Value result;                   // as the engine sent it, or nil
  LastNote::Words note;           // what the engine was doing, where it could not say so itself
  std::optional<Error> broken;    // what was wrong with the control channel: the supervisor killed the engine
  std::filesystem::path folder;   // the run's, still held, or empty
};

// The outcome. Where the engine could not, this also writes into summary.json how the run has ended.
Outcome outcome(const Ending& ending);

}  // namespace trainlab
