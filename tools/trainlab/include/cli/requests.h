// From a command line, and from a manifest, to what an engine is asked to do.
#pragma once

#include <filesystem>

#include "cli/arguments.h"
#include "run/manifest.h"
#include "run/request.h"

namespace trainlab::cli {

// The command with the recipe that is its word, or the recipe's --help. Raises Error{usage} when there is no such
// recipe.
Request request_for_recipe(const Arguments& arguments);

// The command with a run that is there: the stored recipe with all that was recorded. Raises Error{usage} when the run
// has lost its recipe.
Request request_for_run(const Arguments& arguments, const std::filesystem::path& run, const Manifest& manifest);

std::filesystem::path absolute_path(const std::filesystem::path& path);

}  // namespace trainlab::cli
