// Makes the request to an engine from a command line, and from a run's manifest.
#pragma once

#include <filesystem>

#include "cli/arguments.h"
#include "run/manifest.h"
#include "run/request.h"

namespace trainlab::cli {

// The request to execute the command on the recipe that its word names, or the recipe's --help. Raises Error{usage}
// when the recipe does not exist.
Request request_for_recipe(const Arguments& arguments);

// The request to execute the command on an existing run, with the stored recipe and all recorded settings. Raises
// Error{usage} when the run's recipe is missing.
Request request_for_run(const Arguments& arguments, const std::filesystem::path& run, const Manifest& manifest);

std::filesystem::path absolute_path(const std::filesystem::path& path);
// The absolute path of a recipe that the command line names. Raises Error{usage} where there is no regular file.
std::filesystem::path recipe_at(const std::string& word);

}  // namespace trainlab::cli
