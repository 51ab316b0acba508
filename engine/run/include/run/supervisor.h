// The supervisor: starts an engine, gives it a run folder when it asks, forwards signals, and tells how it ended.
//
// The engine runs in a process group of its own, so that the supervisor alone decides what a Ctrl-C means: the first
// SIGINT, SIGTERM or SIGHUP asks for a checkpoint and an end; the second kills, and so does the end of --grace. Ctrl-Z
// stops both, `fg` continues both.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/value.h"
#include "run/folder.h"
#include "run/request.h"

namespace trainlab {

// How an engine ended.
struct Outcome {
  int code = 0;                       // exit code of `trainlab`: 0, 1, 2, 3, or 128 and the number of a signal
  std::filesystem::path folder = {};  // the run's, empty where none was opened
  std::optional<Error> error = {};    // what went wrong, unless the run's summary.json tells it
  Value result = {};                  // the engine's result message (see control.h), nil when there was none
  bool may_go_on = false;             // whether the run may be resumed as it is: the engine was stopped, or has died
  bool is_out_of_time = false;        // whether the supervisor stopped the engine at the end of its time
};

class Supervisor {
 public:
  // `engine`: the program to start.
  explicit Supervisor(std::filesystem::path engine);

  // libexec/trainlab-engine, found relative to this program. Raises Error{usage} when the engine, or the LibTorch to
  // which it is linked, is not there or of another version.
  static std::filesystem::path find_engine();

  // Runs one engine to its end. `held`: the run that is continued; without it a folder is opened when the engine asks
  // (its option "out", or runs/NAME/NNN below request.working_folder), and gone again if no stage begins; of a command
  // that keeps no run it is a ScratchFolder, and gone in any case. The folder stays locked until this returns. Signals
  // are blocked meanwhile: one call at a time, from the only thread. `until`: the end of the engine's time, by
  // steady_seconds(), which stops the engine as a SIGTERM does. Raises Error{usage} when the engine cannot be started.
  Outcome run(Request request, std::optional<RunFolder> held = std::nullopt,
              std::optional<double> until = std::nullopt);

 private:
  std::filesystem::path engine_;
};

}  // namespace trainlab
