// The end of a command: what goes to standard output and standard error.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "cli/arguments.h"
#include "core/error.h"
#include "core/value.h"
#include "run/folder.h"
#include "run/supervisor.h"

namespace trainlab::cli {

// Tells how an engine ended and gives the exit code. With `json` exactly one object goes to standard output; `kind` is
// that of a text which the engine sent.
int tell(const Outcome& outcome, bool json, const std::string& kind);

// Has an engine do what is asked for, tells how it ended and gives the exit code. `held`: the run that is continued.
// Raises Error{usage} when the engine cannot be started.
int supervise(const Request& request, const Arguments& arguments, std::optional<RunFolder> held = std::nullopt);

// The summary of a run that needs no engine any more: as it is stored, or as text.
int tell_summary(const std::filesystem::path& run, bool json);

// An error that ends the program; `run`: the folder of the run that was opened, if one was.
int tell(const Error& error, bool json, const std::filesystem::path& run = {});

// Writes to standard output. Raises Error{run} when it cannot be written.
void print(std::string_view text);
// The same of a text that is all that a command has to say, with `json` as an object of this kind.
void print_text(const std::string& text, bool json, const std::string& kind);

}  // namespace trainlab::cli
