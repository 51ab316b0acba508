#pragma once

#include <string>

#include "core/error.h"

namespace trainlab::test {

// The error that `act` raises, as text ("" for none).
template <class F>
std::string error_of(F&& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace trainlab::test
