// The caller of a search gives a function that prints progress lines, the time that is left, and the fit's data if they
// are open already.
#pragma once

#include <functional>
#include <string>

#include "data/dataset.h"

namespace trainlab {

struct SearchContext {
  std::function<void(const std::string&)> say = {};  // lines; or null
  // Seconds until the search must have ended. Once they are negative, no further training begins: Error{run}. Null: no
  // limit.
  std::function<double()> seconds_left = {};
  const DataParts* opened = nullptr;  // the data, where the caller has opened it; outlives the search

  void tell(const std::string& line) const {
    if (say) say(line);
  }
};

}  // namespace trainlab
