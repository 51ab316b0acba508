// Whatever a call of LibTorch's operators raises, as an Error.
#pragma once

#include <exception>

#include "core/error.h"

namespace trainlab {

// An Error as it is; a c10::Error as torch_error; std::bad_alloc as Error{run}; any other exception, which a kernel or
// a library under it raised at its arguments, as Error{recipe}.
Error operator_error(const std::exception& exception);

// Runs f, which calls operators and nothing else. (with_torch_errors is for more than that: a std::logic_error there is
// a fault of the engine, and no mistake of the recipe.)
template <class F>
decltype(auto) with_operator_errors(F&& f) {
  try {
    return f();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& exception) {
    throw operator_error(exception);
  }
}

}  // namespace trainlab
