// The temporaries of write_atomic: hidden files beside the files that they become, named .NAME.MACHINE.PID-N.tmp, so
// that processes of several machines that share a folder leave each other's temporaries alone.
#pragma once

#include <filesystem>

namespace trainlab {

// A name that this process has not used before. Thread-safe.
std::filesystem::path next_temporary(const std::filesystem::path& file);

bool is_temporary(const std::filesystem::path& file);
// Whether the process of a temporary is there no more. Nobody knows that of another machine's or container's process;
// a name without a MACHINE, as earlier versions gave them, counts as this machine's.
bool is_abandoned_temporary(const std::filesystem::path& file);

}  // namespace trainlab
