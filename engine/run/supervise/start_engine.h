// Starting an engine process.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace trainlab {

// Starts `engine REQUEST` in a process group of its own, with default signals, standard input from /dev/null, standard
// output going to standard error, `control` as its control_fd and `note` as its note_fd. Raises Error{usage} when it
// cannot be started.
pid_t spawn_engine(const std::filesystem::path& engine, const std::string& request, int control, int note);

}  // namespace trainlab
