// The error of what a recipe's function gave.
#pragma once

#include <string>

#include "core/callable.h"
#include "core/error.h"

namespace trainlab {

// An Error{recipe} at the line where the function was written; `where` is Callable::where().
Error function_error(const std::string& where, std::string message);
Error function_error(const Callable& function, std::string message);

}  // namespace trainlab
