// The end of a command: writes its results and errors to standard output and standard error, and lines on the
// way.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/arguments.h"
#include "core/error.h"
#include "core/value.h"
#include "run/folder.h"
#include "run/supervisor.h"

namespace trainlab::cli {

// Reports how an engine ended. Returns the exit code. With `json`, exactly one object goes to standard output; `kind`
// is the kind of an object for a text that the engine sent.
int tell(const Outcome& outcome, bool json, const std::string& kind);
// The same for a command that trains several runs, one of which has ended without a result. Where the command was
// interrupted, the summary of this one training is not printed, because it does not answer the command. `folder`: of
// all runs of the command.
int tell_broken_off(const Outcome& outcome, const Arguments& given, const std::string& kind,
                    const std::filesystem::path& folder);

// Lets an engine execute the request, reports how the engine ended, and returns the exit code. `held`: the run that is
// continued. Raises Error{usage} when the engine cannot be started.
int supervise(const Request& request, const Arguments& arguments, std::optional<RunFolder> held = std::nullopt);

// Removes the logs beside a run's studies that processes which were killed have left. A log that a process has open
// stays.
void settle_studies(const std::filesystem::path& run);

// Prints the summary of a run that has ended: as it is stored, or as text. Returns the exit code.
int tell_summary(const std::filesystem::path& run, Value summary, bool json);

// Reports an error that ends the program. `run`: the folder of the opened run, if a run was opened.
int tell(const Error& error, bool json, const std::filesystem::path& run = {});

// Writes a text for people to standard output, control characters replaced: a pipe or file may lead to a terminal.
// Raises Error{run} when it cannot be written.
void print(std::string_view text);
// Writes data for a program: unchanged, but to a terminal as print does.
void print_data(std::string_view text);
// Writes a text that is the whole output of a command; with `json`, as an object of the kind `kind`.
void print_text(const std::string& text, bool json, const std::string& kind);

// Before the result is printed: writes the page of --html, where that is given. A failure is returned as a line.
std::optional<std::string> page_failure(const Arguments& given, const std::function<std::string()>& page);
// After the result was printed: says what failed on the way, and returns the exit code.
int end_with(const std::optional<std::string>& failure);

// Writes a line to standard error, unless --quiet is given.
void say(const Arguments& given, const std::string& line);
// The same for a warning of a likely mistake, which --quiet does not hide.
void warn(const std::string& warning);

}  // namespace trainlab::cli
