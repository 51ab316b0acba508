// From a command line, and from a manifest, to what an engine is asked to do.
#pragma once

#include <filesystem>

#include "cli/arguments.h"
#include "run/manifest.h"
#include "run/request.h"

namespace trainlab::cli {

// run, check, or a recipe's --help. Raises Error{usage} when there is no such recipe.
Request request_for_recipe(const Arguments& arguments);

// resume and extend: the stored recipe with all that was recorded.
Request request_for_run(const Arguments& arguments, const std::filesystem::path& run, const Manifest& manifest);

// worker: an engine that helps with the run. Raises Error{usage} when nobody executes it.
Request request_for_worker(const Arguments& arguments);

// predict: of the stage that is asked for, or the one that the recipe returned. Raises Error{usage} when it is no fit, or
// there is no such stage.
Request request_for_prediction(const Arguments& arguments);

}  // namespace trainlab::cli
